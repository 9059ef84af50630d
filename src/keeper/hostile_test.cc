// Frames from a peer that is wrong, late or not the daemon.
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <random>

#include "base/error.h"
#include "keeper/testing/local_keeper.h"

namespace cay::keeper::testing {
namespace {

using wire::Type;

std::string frame(Type type, std::uint32_t channel, std::string payload) {
  wire::Frame out;
  out.type = static_cast<std::uint16_t>(type);
  out.channel = channel;
  out.payload = std::move(payload);
  return wire::encode_frame(out);
}

void send_raw(const UniqueFd& fd, const std::string& bytes) {
  ASSERT_EQ(::send(fd.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL),
            static_cast<ssize_t>(bytes.size()));
}

// Reads until the keeper hangs up.
std::string rest_of(const UniqueFd& fd) {
  std::string got;
  char buffer[4096];
  for (ssize_t size = 0; (size = ::read(fd.get(), buffer, sizeof buffer)) > 0;)
    got.append(buffer, static_cast<std::size_t>(size));
  return got;
}

// Takes one piece of the keeper's output, so that it has come to our frames.
void rest_of_some(const UniqueFd& fd) {
  char buffer[4096];
  [[maybe_unused]] const ssize_t got = ::read(fd.get(), buffer, sizeof buffer);
}

TEST(HostileTest, HelloTellsWhoTheKeeperIs) {
  LocalKeeper keeper;
  Client client(keeper.connect());
  const wire::Hello hello = client.hello();
  EXPECT_EQ(hello.role, "keeper");
  EXPECT_EQ(hello.sandbox_id, "11111111-1111-4111-8111-111111111111");
  EXPECT_EQ(hello.witness, "outside");
}

TEST(HostileTest, AnotherVersionIsRefusedWithWords) {
  LocalKeeper keeper;
  const UniqueFd fd = keeper.connect();
  wire::Hello hello;
  hello.min_version = 1000;
  hello.max_version = 1001;
  send_raw(fd, frame(Type::kHello, 0, wire::encode(hello)));
  EXPECT_NE(rest_of(fd).find("protocol_version"), std::string::npos);
}

TEST(HostileTest, NonsenseClosesThatConnectionOnly) {
  LocalKeeper keeper;
  Client good = keeper.client();
  for (const std::string& bytes : {std::string(16, '\xff'), frame(Type::kStart, 1, "x"),
                                   std::string("GET / HTTP/1.1\r\n\r\n")}) {
    const UniqueFd bad = keeper.connect();
    send_raw(bad, bytes);
    rest_of(bad);
  }
  EXPECT_EQ(good.run(shell("a", "echo hi")).out, "hi\n");
}

TEST(HostileTest, MalformedRequestsAreTyped) {
  LocalKeeper keeper;
  Client client = keeper.client();
  for (const Type type :
       {Type::kStart, Type::kAttach, Type::kStdin, Type::kKill, Type::kResize, Type::kFileOp}) {
    const std::uint32_t channel = client.channel();
    client.send(type, channel, std::string("\x01\x00\xff\xff\xff\xff", 6));
    EXPECT_EQ(error_of(client.next(channel)).reason, "malformed_request");
  }
  const std::uint32_t channel = client.channel();
  client.send(static_cast<Type>(999), channel, std::string());
  EXPECT_EQ(error_of(client.next(channel)).reason, "unknown_request");
  EXPECT_EQ(error_of(client.call(
                         Type::kAttach,
                         wire::Attach{
                             .command_id = "none", .out_offset = 0, .err_offset = 0, .credit = 0}))
                .code,
            static_cast<std::uint32_t>(Code::kNotFound));
  // Words about channels that never were, or are over, are no fault.
  client.send(Type::kCredit, 4000, wire::Credit{1});
  client.send(Type::kCancel, 4001, wire::Empty{});
  client.send(Type::kData, 4002, std::string(10, 'x'));
  EXPECT_EQ(client.run(shell("a", "echo hi")).out, "hi\n");
}

TEST(HostileTest, RandomFramesNeverBreakTheKeeper) {
  LocalKeeper keeper;
  std::minstd_rand random(11);
  const std::string seed = wire::encode(shell("x", "exit 0"));
  for (int round = 0; round < 40; ++round) {
    const UniqueFd fd = keeper.connect();
    wire::Hello hello;
    std::string bytes = frame(Type::kHello, 0, wire::encode(hello));
    for (int i = 0; i < 50; ++i) {
      std::string payload = seed;
      for (int n = 0; n < 4; ++n) payload[random() % payload.size()] = static_cast<char>(random());
      auto type = static_cast<Type>(1 + random() % 55);
      if (type == Type::kShutdown || type == Type::kPause)
        type = Type::kStats;  // these are meant to refuse what comes next
      bytes += frame(type, static_cast<std::uint32_t>(1 + random() % 8), payload);
    }
    // It may have hung up on an earlier frame already.
    [[maybe_unused]] const ssize_t sent =
        ::send(fd.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    rest_of_some(fd);
  }
  EXPECT_EQ(keeper.client().run(shell("last", "echo hi")).out, "hi\n");
}

TEST(HostileTest, ASilentPeerKeepsNobodyOut) {
  LocalKeeper keeper;
  std::vector<UniqueFd> silent;
  for (int i = 0; i < 20; ++i) silent.push_back(keeper.connect());
  Client first = keeper.client();
  EXPECT_EQ(first.run(shell("a", "echo hi")).out, "hi\n");
  // A second daemon that proves itself takes the place of the first.
  Client second = keeper.client();
  EXPECT_EQ(second.run(shell("b", "echo ho")).out, "ho\n");
  EXPECT_THROW(first.run(shell("c", "true")), std::runtime_error);
}

TEST(HostileTest, AnotherUserIsNotServed) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root to be another user";
  LocalKeeper keeper;
  ::chmod(keeper.home().c_str(), 0755);
  ::chmod((keeper.home() + "/socket").c_str(), 0777);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    if (::setresuid(65534, 65534, 65534) != 0) ::_exit(2);
    const UniqueFd fd = keeper.connect();
    ::_exit(rest_of(fd).empty() ? 0 : 1);  // hung up without a word
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(keeper.client().run(shell("a", "echo hi")).out, "hi\n");
}

TEST(HostileTest, TooManyRunningIsSaid) {
  LocalKeeper keeper(Transport::kUnix, [](Context& context) { context.max_running = 3; });
  Client client = keeper.client();
  for (int i = 0; i < 3; ++i) client.start(shell("s" + std::to_string(i), "exec sleep 600"));
  EXPECT_EQ(error_of(client.call(Type::kStart, shell("more", "true"))).reason, "too_many_running");
  client.call(Type::kKill, wire::Kill{"s0", 0, "client"});
  client.attach("s0");
  EXPECT_EQ(client.run(shell("more", "echo hi")).out, "hi\n");
}

}  // namespace
}  // namespace cay::keeper::testing
