// The client reads much at once, whatever it streams: bodies, chunked or not, and messages.
#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <string>

#include "http/client.h"
#include "http/testing/loop_thread.h"

namespace cay::http {
namespace {

using SharedExchange = std::shared_ptr<Exchange>;

constexpr std::size_t kPiece = 64 * 1024;
constexpr std::size_t kPieces = 256;
constexpr std::size_t kBytes = kPiece * kPieces;

class ZeroPieces final : public ByteSource {
 public:
  Task<Bytes> next() override { co_return Bytes(given_++ < kPieces ? kPiece : 0, '\0'); }

 private:
  std::size_t given_ = 0;
};

asio::awaitable<void> give(SharedExchange exchange) {
  const auto& way = exchange->head().segments.back();
  if (way != "messages") {
    const auto length = way == "known" ? std::optional<std::uint64_t>(kBytes) : std::nullopt;
    auto zeros = std::make_unique<ZeroPieces>();
    co_await exchange->respond_stream(200, {}, length, std::move(zeros));
    co_return;
  }
  auto socket = co_await exchange->upgrade(kPiece);
  for (std::size_t i = 0; i < kPieces; ++i) {
    auto sent = co_await (*socket)->send_binary(Bytes(kPiece, '\0'));
    EXPECT_TRUE(sent);
  }
  co_await (*socket)->close(1000, "");
}

Task<std::size_t> take_body(Client& client, std::string target) {
  ClientRequest request;
  request.target = std::move(target);
  CAY_CO_TRY(auto answer, co_await client.send(std::move(request)));
  std::size_t all = 0;
  for (;;) {
    CAY_CO_TRY(const auto piece, co_await answer.body->next());
    if (piece.empty()) break;
    all += piece.size();
  }
  co_return all;
}

Task<std::size_t> take_messages(Client& client) {
  CAY_CO_TRY(auto upgrade, co_await client.websocket("/messages", {}, kPiece));
  std::size_t all = 0;
  for (;;) {
    const auto message = co_await upgrade.socket->read();
    if (message.kind == WsMessage::Kind::kClosed) break;
    all += message.data.size();
  }
  co_return all;
}

// How often the client's loop woke for each piece. A read is at least one of them; 512 bytes at
// once would be 128 reads.
double wakes_for_each_piece(const std::function<Task<std::size_t>(Client&)>& take) {
  testing::TestServer server(give);
  asio::io_context loop;
  ClientOptions options;
  options.url = "http://127.0.0.1:" + std::to_string(server.port());
  auto client = Client::create(loop.get_executor(), options);
  EXPECT_TRUE(client);
  std::size_t wakes = 0;
  bool ended = false;
  asio::co_spawn(loop, take(**client),
                 [&](const std::exception_ptr& failure, const Result<std::size_t>& got) {
                   EXPECT_TRUE(failure == nullptr && got);
                   if (got) EXPECT_EQ(*got, kBytes);
                   ended = true;
                 });
  while (!ended && loop.run_one() > 0) ++wakes;
  client->reset();
  loop.poll();
  return static_cast<double>(wakes) / kPieces;
}

constexpr double kMost = 32;

TEST(ClientReadsTest, ABodyOfKnownLengthComesInLargeReads) {
  EXPECT_LT(wakes_for_each_piece([](Client& client) { return take_body(client, "/known"); }),
            kMost);
}

TEST(ClientReadsTest, AChunkedBodyComesInLargeReads) {
  EXPECT_LT(wakes_for_each_piece([](Client& client) { return take_body(client, "/chunked"); }),
            kMost);
}

TEST(ClientReadsTest, MessagesComeInLargeReads) {
  EXPECT_LT(wakes_for_each_piece([](Client& client) { return take_messages(client); }), kMost);
}

}  // namespace
}  // namespace cay::http
