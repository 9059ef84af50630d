// The client of a keeper alone, over a plain TCP stream to a real keeper. A runtime that has no
// launcher, no files of the keeper's host and no passed sockets uses it like this.
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>

#include <thread>

#include "base/testing/tcp.h"
#include "runtime/keeper/dialer.h"
#include "runtime/keeper/testing/conformance.h"

namespace cay::runtime::testing {
namespace {

using keeper::testing::Transport;

class ClientTest : public ConformanceTest {
 protected:
  void SetUp() override {
    const UniqueFd probe = keeper_.connect();
    sockaddr_in address{};
    socklen_t size = sizeof address;
    ASSERT_EQ(::getpeername(probe.get(), reinterpret_cast<sockaddr*>(&address), &size), 0);
    ASSERT_EQ(address.sin_family, AF_INET);
    connect(tcp_dialer("127.0.0.1", ntohs(address.sin_port)));
  }
};
INSTANTIATE_TEST_SUITE_P(Over, ClientTest, ::testing::Values(Transport::kTcp), transport_name);

TEST_P(ClientTest, ACommandTakesInputAndGivesOutputAndItsEnd) {
  core::LiveCommands& commands = *box_;
  play([&]() -> asio::awaitable<void> {
    const CommandId id("one");
    auto started = co_await commands.start(shell("one", "read line; echo got $line; exit 3"));
    EXPECT_TRUE(started) << started.error().message;
    auto reader = co_await commands.attach(id, {});
    EXPECT_TRUE(reader) << reader.error().message;
    if (!reader) co_return;
    auto written = co_await commands.write_stdin(id, "a word\n", false);
    EXPECT_TRUE(written) << written.error().message;
    const Seen seen = co_await drain(**reader);
    EXPECT_EQ(seen.out, "got a word\n");
    EXPECT_TRUE(seen.end);
    if (seen.end) EXPECT_EQ(seen.end->end.exit_code, 3);
  });
}

TEST_P(ClientTest, AFileIsWrittenAndRead) {
  core::LiveFiles& files = *box_;
  play([&]() -> asio::awaitable<void> {
    auto chunks = std::make_unique<Chunks>(std::vector<Bytes>{"some ", "bytes"});
    core::WriteOptions options;
    auto info = co_await files.write(path("f"), options, std::move(chunks));
    EXPECT_TRUE(info) << info.error().message;
    auto stream = co_await files.read(path("f"), {}, {});
    EXPECT_TRUE(stream) << stream.error().message;
    if (!stream) co_return;
    auto bytes = co_await stream->bytes->next();
    EXPECT_TRUE(bytes && *bytes == "some bytes");
  });
}

TEST_P(ClientTest, ATunnelGoesOverTheSameStream) {
  const cay::testing::Listener listener;
  std::thread program([&] {
    const UniqueFd end = listener.accept();
    EXPECT_EQ(cay::testing::read_bytes(end, 4), "ping");
    EXPECT_TRUE(cay::testing::write_bytes(end, "pong"));
  });
  core::LiveTunnels& tunnels = *box_;
  play([&]() -> asio::awaitable<void> {
    auto tunnel = co_await tunnels.open_tunnel(listener.port());
    EXPECT_TRUE(tunnel) << tunnel.error().message;
    if (!tunnel) co_return;
    auto written = co_await (*tunnel)->write("ping");
    EXPECT_TRUE(written);
    auto bytes = co_await (*tunnel)->read();
    EXPECT_TRUE(bytes && *bytes == "pong");
  });
  program.join();
}

TEST_P(ClientTest, ItsNumbersAreReported) {
  core::LiveState& state = *box_;
  play([&]() -> asio::awaitable<void> {
    auto stats = co_await state.stats();
    EXPECT_TRUE(stats) << stats.error().message;
    if (stats) EXPECT_EQ(stats->running_commands, 0U);
  });
}

// Nothing is kept here, so a reader cannot go on from it.
TEST_P(ClientTest, AReaderEndsWithItsKeeper) {
  play([&]() -> asio::awaitable<void> {
    auto started = co_await box_->start(shell("long", "echo begun; exec sleep 600"));
    EXPECT_TRUE(started) << started.error().message;
    auto reader = co_await box_->attach(CommandId("long"), {});
    EXPECT_TRUE(reader) << reader.error().message;
    if (!reader) co_return;
    auto first = co_await (*reader)->next();
    EXPECT_TRUE(first) << first.error().message;
    ::kill(keeper_.pid(), SIGKILL);
    const Seen seen = co_await drain(**reader);
    EXPECT_TRUE(seen.error);
    if (seen.error) EXPECT_EQ(seen.error->code, Code::kLost);
  });
}

}  // namespace
}  // namespace cay::runtime::testing
