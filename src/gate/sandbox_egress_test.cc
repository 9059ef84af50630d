#include "gate/sandbox_egress.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/ioctl.h>

#include <algorithm>
#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <functional>
#include <string>

#include "async/testing.h"
#include "base/testing/temp_dir.h"
#include "gate/handover.h"
#include "os/file.h"
#include "os/unix_socket.h"
#include "wire/messages.h"
#include "wire/routes_file.h"
#include "wire/vault_frame.h"

namespace cay::gate {
namespace {

TEST(RoomTest, ManyConnectionsOfOneLeaveRoomForOthers) {
  constexpr std::size_t kMost = 1000;
  EXPECT_TRUE(ConnectionLimiter::has_room(0, 0, kMost, 1));
  EXPECT_TRUE(ConnectionLimiter::has_room(749, 749, kMost, 2)) << "alone it may have most";
  EXPECT_FALSE(ConnectionLimiter::has_room(750, 750, kMost, 2));
  EXPECT_TRUE(ConnectionLimiter::has_room(0, 750, kMost, 2)) << "another's share is kept";
  EXPECT_TRUE(ConnectionLimiter::has_room(124, 874, kMost, 2));
  EXPECT_FALSE(ConnectionLimiter::has_room(125, 875, kMost, 2));
  EXPECT_FALSE(ConnectionLimiter::has_room(0, kMost, kMost, 1));
  EXPECT_FALSE(ConnectionLimiter::has_room(ConnectionLimiter::kMostConnections,
                                           ConnectionLimiter::kMostConnections, 1 << 20, 1));
}

class SandboxEgressTest : public ::testing::Test {
 protected:
  UniqueFd bound(int type) {
    UniqueFd fd(::socket(AF_INET, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::bind(fd.get(), reinterpret_cast<const sockaddr*>(&at), sizeof at), 0);
    if (type == SOCK_STREAM) EXPECT_EQ(::listen(fd.get(), 128), 0);
    return fd;
  }
  // `rules`: DATA/rules; -1: there is none.
  GateContext context_of(int rules) {
    return {loop_.get_executor(),
            directory_.get(),
            rules,
            std::make_shared<const policy::Catalogue>(),
            Reachable({}),
            Resolver(loop_.get_executor()),
            PipePool(),
            100,
            SocketMemory(0, 0, KernelBuffers::of_host())};
  }
  // A context in which the addresses that `look` returns may be dialled.
  GateContext context_of(int rules, LookUp look) {
    return {loop_.get_executor(),
            directory_.get(),
            rules,
            std::make_shared<const policy::Catalogue>(),
            Reachable({*Network::parse("198.18.7.0/24")}),
            Resolver(loop_.get_executor(), std::move(look)),
            PipePool(),
            100,
            SocketMemory(0, 0, KernelBuffers::of_host())};
  }

  const cay::testing::TempDir temp_;
  const UniqueFd directory_ = temp_.open();
  asio::io_context loop_;
};

TEST_F(SandboxEgressTest, AFloodOfQuestionsLeavesOthersTheirTurns) {
  UniqueFd stream = bound(SOCK_STREAM), datagrams = bound(SOCK_DGRAM);
  const UniqueFd egress_end(::fcntl(datagrams.get(), F_DUPFD_CLOEXEC, 0));
  sockaddr_in at{};
  socklen_t size = sizeof at;
  ASSERT_EQ(::getsockname(datagrams.get(), reinterpret_cast<sockaddr*>(&at), &size), 0);
  const UniqueFd guest(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  for (int i = 0; i < 200; ++i)
    ASSERT_EQ(::sendto(guest.get(), "x", 1, 0, reinterpret_cast<const sockaddr*>(&at), size), 1);
  GateContext context = context_of(-1);
  std::vector<UniqueFd> sockets;
  sockets.push_back(std::move(stream));
  sockets.push_back(std::move(datagrams));
  SandboxEgress egress(context, "id", "off", std::move(sockets));
  Scope serving(loop_.get_executor());
  serving.spawn(egress.run());
  // Somebody else on the loop: how often it has a turn before all of them are read.
  int turns = 0;
  std::function<void()> turn = [&] {
    int waiting = 0;
    ::ioctl(egress_end.get(), FIONREAD, &waiting);
    if (waiting == 0) return serving.cancel();
    ++turns;
    asio::post(loop_, turn);
  };
  asio::post(loop_, turn);
  loop_.run();
  EXPECT_GE(turns, 200 / kMostInARow);
}

// Queries the A records of names, one after the other; gives the answers' codes (0:
// there are some, 3: no such name).
class Asking {
 public:
  Asking(asio::io_context& loop, const UniqueFd& egress_end) : loop_(loop) {
    socklen_t size = sizeof at_;
    EXPECT_EQ(::getsockname(egress_end.get(), reinterpret_cast<sockaddr*>(&at_), &size), 0);
  }
  void ask(const std::string& name) {
    std::string question("\x12\x34\1\0\0\1\0\0\0\0\0\0", 12);
    for (std::size_t from = 0; from < name.size();) {
      const std::size_t dot = std::min(name.find('.', from), name.size());
      question += static_cast<char>(dot - from) + name.substr(from, dot - from);
      from = dot + 1;
    }
    question += std::string("\0\0\1\0\1", 5);
    EXPECT_EQ(::sendto(guest_.get(), question.data(), question.size(), 0,
                       reinterpret_cast<const sockaddr*>(&at_), sizeof at_),
              static_cast<ssize_t>(question.size()));
  }
  int answers() {
    char answer[512];
    while (::recv(guest_.get(), answer, sizeof answer, MSG_DONTWAIT) >= 0) ++answered_;
    return answered_;
  }
  int operator()(const std::string& name) {
    ask(name);
    unsigned char answer[512] = {};
    while (::recv(guest_.get(), answer, sizeof answer, MSG_DONTWAIT) < 0) loop_.run_one();
    return answer[3] & 15;
  }

 private:
  asio::io_context& loop_;
  sockaddr_in at_{};
  int answered_ = 0;
  const UniqueFd guest_{::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)};
};

TEST_F(SandboxEgressTest, GoesByTheRulesThatWereWrittenAndElseByWhatWasLent) {
  UniqueFd stream = bound(SOCK_STREAM), datagrams = bound(SOCK_DGRAM);
  Asking code_of(loop_, datagrams);
  const auto write = [&](const std::string& policy, const std::string& rules) {
    ASSERT_TRUE(os::replace_file(directory_.get(), "id",
                                 wire::encode(wire::SandboxPolicy{policy, rules}), 0600));
  };
  const LookUp found = [](const std::string&) {
    return Resolved{Resolved::Outcome::kFound, {*IpAddress::parse("198.18.7.7")}};
  };
  GateContext context = context_of(directory_.get(), found);
  std::vector<UniqueFd> sockets;
  sockets.push_back(std::move(stream));
  sockets.push_back(std::move(datagrams));
  SandboxEgress egress(context, "id", "packages", std::move(sockets));
  Scope serving(loop_.get_executor());
  serving.spawn(egress.run());
  EXPECT_EQ(code_of("pypi.org"), 0) << "no file: as it was lent";
  EXPECT_EQ(code_of("a.test"), 3);
  write("rules", "a.test");
  EXPECT_EQ(code_of("a.test"), 3) << "not before it is notified";
  egress.reload_policy();
  EXPECT_EQ(code_of("a.test"), 0);
  EXPECT_EQ(code_of("pypi.org"), 3);
  write("open", "");
  egress.reload_policy();
  EXPECT_EQ(code_of("b.test"), 0);
  ASSERT_TRUE(os::replace_file(directory_.get(), "id", "no such message", 0600));
  egress.reload_policy();
  EXPECT_EQ(code_of("a.test"), 3) << "what cannot be read may be narrower than what was lent";
  EXPECT_EQ(code_of("pypi.org"), 3);
  serving.cancel();
  loop_.run();
}

TEST_F(SandboxEgressTest, ALookupThatFailsHasALine) {
  ASSERT_TRUE(os::replace_file(directory_.get(), "id.sock", "", 0600));  // its keeper is there
  UniqueFd stream = bound(SOCK_STREAM), datagrams = bound(SOCK_DGRAM);
  Asking code_of(loop_, datagrams);
  const LookUp found = [](const std::string& name) {
    if (name == "here.test")
      return Resolved{Resolved::Outcome::kFound, {*IpAddress::parse("198.18.7.7")}};
    return Resolved{name == "none.test" ? Resolved::Outcome::kNoName : Resolved::Outcome::kFailed,
                    {}};
  };
  GateContext context = context_of(-1, found);
  std::vector<UniqueFd> sockets;
  sockets.push_back(std::move(stream));
  sockets.push_back(std::move(datagrams));
  SandboxEgress egress(context, "id", "open", std::move(sockets));
  Scope serving(loop_.get_executor());
  serving.spawn(egress.run());
  EXPECT_EQ(code_of("here.test"), 0);
  EXPECT_EQ(code_of("none.test"), 3);
  EXPECT_EQ(code_of("none.test"), 3);
  EXPECT_EQ(code_of("silent.test"), 2);
  serving.cancel();
  loop_.run();
  const auto text = os::read_file(directory_.get(), "id.net", 1 << 20);
  ASSERT_TRUE(text);
  const auto told = wire::decode<wire::DecisionsMsg>(*text);
  ASSERT_TRUE(told);
  ASSERT_EQ(told->items.size(), 2U) << "one that is found has the lines of its connections";
  for (std::size_t i = 0; i < 2; ++i) EXPECT_TRUE(told->items[i].allowed) << "no rule refused it";
  EXPECT_EQ(told->items[0].host, "none.test");
  EXPECT_EQ(told->items[0].reason, "name_not_found");
  EXPECT_EQ(told->items[0].count, 2U);
  EXPECT_EQ(told->items[1].host, "silent.test");
  EXPECT_EQ(told->items[1].reason, "lookup_failed");
}

TEST_F(SandboxEgressTest, NamesThatWereNeverAskedForAreBoundedAndHaveOneLine) {
  ASSERT_TRUE(os::replace_file(directory_.get(), "id.sock", "", 0600));  // its keeper is there
  UniqueFd stream = bound(SOCK_STREAM), datagrams = bound(SOCK_DGRAM);
  Asking code_of(loop_, datagrams);
  std::atomic<int> asked_on = 0;  // on its threads
  const LookUp found = [&](const std::string&) {
    ++asked_on;
    return Resolved{Resolved::Outcome::kFound, {*IpAddress::parse("198.18.7.7")}};
  };
  GateContext context = context_of(-1, found);
  std::vector<UniqueFd> sockets;
  sockets.push_back(std::move(stream));
  sockets.push_back(std::move(datagrams));
  SandboxEgress egress(context, "id", "open", std::move(sockets));
  Scope serving(loop_.get_executor());
  serving.spawn(egress.run());
  int number = 0;
  while (code_of("n" + std::to_string(number) + ".test") == 0) ++number;
  EXPECT_GE(number, 2'000);
  EXPECT_EQ(code_of("n0.test"), 0) << "it was asked for before";
  EXPECT_LE(asked_on, number + 1)
      << "what is refused is not asked for outside";  // the first one again, if 30 s have passed
  serving.cancel();
  loop_.run();
  const auto text = os::read_file(directory_.get(), "id.net", 1 << 20);
  const auto told = text ? wire::decode<wire::DecisionsMsg>(*text) : std::nullopt;
  ASSERT_TRUE(told && told->items.size() == 1);
  EXPECT_EQ(told->items[0].host, "*");
  EXPECT_EQ(told->items[0].reason, "too_many_new_names");
  EXPECT_FALSE(told->items[0].allowed);
}

TEST_F(SandboxEgressTest, ASandboxThatHasMovedAllItsBytesFindsNothingMore) {
  ASSERT_TRUE(os::replace_file(directory_.get(), "id.sock", "", 0600));  // its keeper is there
  ASSERT_TRUE(os::replace_file(
      directory_.get(), "id.net",
      wire::encode(wire::DecisionsMsg{.policy = "open", .items = {}, .sent_bytes = 100}), 0600));
  const LookUp found = [](const std::string&) {
    return Resolved{Resolved::Outcome::kFound, {*IpAddress::parse("198.18.7.7")}};
  };
  GateContext context = context_of(-1, found);
  const auto code = [&](std::uint64_t sent_most, std::uint64_t received_most) {
    context.sent_most = sent_most;
    context.received_most = received_most;
    std::vector<UniqueFd> sockets;
    sockets.push_back(bound(SOCK_STREAM));
    sockets.push_back(bound(SOCK_DGRAM));
    Asking code_of(loop_, sockets[1]);
    SandboxEgress egress(context, "id", "open", std::move(sockets));
    Scope serving(loop_.get_executor());
    serving.spawn(egress.run());
    const int out = code_of("here.test");
    serving.cancel();
    loop_.restart();
    loop_.run();
    loop_.restart();
    return out;
  };
  constexpr std::uint64_t kBefore = 100, kName = 9;
  EXPECT_EQ(code(0, 0), 0) << "without end";
  EXPECT_EQ(code(kBefore + 2 * kName - 1, 1), 3)
      << "its second name, of which a byte would be too many, is not looked up";
  EXPECT_EQ(code(kBefore + 2 * kName, 1), 0);
  EXPECT_EQ(code(kBefore + 2 * kName, 0), 3);
  const auto text = os::read_file(directory_.get(), "id.net", 1 << 20);
  const auto told = text ? wire::decode<wire::DecisionsMsg>(*text) : std::nullopt;
  ASSERT_TRUE(told && told->items.size() == 1);
  EXPECT_EQ(told->items[0].reason, "bytes_used_up");
  EXPECT_EQ(told->sent_bytes, kBefore + 2 * kName);
}

TEST_F(SandboxEgressTest, WhoAsksMuchOfHisRulesKeepsNobodyElseWaiting) {
  // The most that is taken, and names that are much work for it.
  std::string rules;
  for (int i = 0; i < 22; ++i) rules += "~(.*a?){20}z" + std::to_string(i) + "\n";
  ASSERT_TRUE(os::replace_file(directory_.get(), "flooder",
                               wire::encode(wire::SandboxPolicy{"rules", rules}), 0600));
  const std::string label(60, 'a');
  const std::string name = label + "." + label + "." + label + "." + label;
  GateContext context = context_of(directory_.get());
  std::vector<UniqueFd> of_one, of_other;
  of_one.push_back(bound(SOCK_STREAM));
  of_one.push_back(bound(SOCK_DGRAM));
  of_other.push_back(bound(SOCK_STREAM));
  of_other.push_back(bound(SOCK_DGRAM));
  Asking flood(loop_, of_one[1]), code_of(loop_, of_other[1]);
  SandboxEgress flooder(context, "flooder", "off", std::move(of_one)),
      other(context, "other", "packages", std::move(of_other));
  Scope serving(loop_.get_executor());
  serving.spawn(flooder.run());
  serving.spawn(other.run());
  constexpr int kFlood = 120;
  EXPECT_EQ(code_of("a.test"), 3);
  for (int i = 0; i < kFlood; ++i) flood.ask(name);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(code_of("a.test"), 3);
  EXPECT_LT(flood.answers(), kFlood) << "the other was not kept until all were answered";
  while (flood.answers() < kFlood) loop_.run_one();  // and none is refused for it
  serving.cancel();
  loop_.run();
}

// A broker that lists one rule, for the sandbox `id`.
class SandboxEgressOfRulesTest : public SandboxEgressTest {
 protected:
  SandboxEgressOfRulesTest() {
    auto asks = os::socket_pair();
    auto told = os::socket_pair();
    EXPECT_TRUE(asks && told);
    EXPECT_EQ(::fcntl(told->theirs.get(), F_SETFL, O_NONBLOCK), 0);
    // The answer is there before the request.
    EXPECT_TRUE(os::send_message(asks->ours.get(), kBrokerWord, {told->theirs.get()}));
    wire::BrokerRoutes routes, end;
    routes.sandbox_id = "id";
    routes.hosts = {"rule.test"};
    routes.fences = {"fence.test"};
    end.all_told = true;
    for (const auto& one : {routes, end})
      EXPECT_TRUE(os::send_message(told->ours.get(), wire::vault_frame(wire::encode(one))));
    broker_ = std::move(told->ours);
    broker_asks_ = std::move(asks->ours);
    dialer_.emplace(std::move(asks->theirs));
    handover_.emplace(loop_.get_executor(), *dialer_);
  }
  UniqueFd broker_, broker_asks_;
  std::optional<KeeperDialer> dialer_;
  std::optional<Handover> handover_;
};

TEST_F(SandboxEgressOfRulesTest, ARuleOpensItsHostUnderAnyPolicyButOff) {
  UniqueFd stream = bound(SOCK_STREAM), datagrams = bound(SOCK_DGRAM);
  Asking code_of(loop_, datagrams);
  const auto go_by = [&](SandboxEgress& egress, const std::string& policy) {
    ASSERT_TRUE(os::replace_file(
        directory_.get(), "id",
        policy.empty() ? "no such message" : wire::encode(wire::SandboxPolicy{policy, ""}), 0600));
    egress.reload_policy();
  };
  const LookUp found = [](const std::string&) {
    return Resolved{Resolved::Outcome::kFound, {*IpAddress::parse("198.18.7.7")}};
  };
  GateContext context = context_of(directory_.get(), found);
  context.handover = &*handover_;
  std::vector<UniqueFd> sockets;
  sockets.push_back(std::move(stream));
  sockets.push_back(std::move(datagrams));
  SandboxEgress egress(context, "id", "packages", std::move(sockets));
  Scope serving(loop_.get_executor());
  serving.spawn(handover_->run());
  while (!handover_->resolves("id", "rule.test")) loop_.run_one();
  serving.spawn(egress.run());
  EXPECT_EQ(code_of("rule.test"), 0);
  EXPECT_EQ(code_of("other.test"), 3);
  EXPECT_EQ(code_of("fence.test"), 3) << "a fence alone opens nothing";
  EXPECT_TRUE(handover_->fences("id", "fence.test", 443));
  EXPECT_FALSE(handover_->takes("id", "fence.test", 443));
  EXPECT_TRUE(handover_->any_at("id", 443));
  EXPECT_TRUE(handover_->fenced_off("id", "fence.test", 80));
  EXPECT_FALSE(handover_->fenced_off("id", "fence.test", 22));
  EXPECT_FALSE(handover_->fenced_off("id", "rule.test", 80));
  go_by(egress, "off");
  EXPECT_EQ(code_of("rule.test"), 3);
  go_by(egress, "git");
  EXPECT_EQ(code_of("rule.test"), 0);
  go_by(egress, "");
  EXPECT_EQ(code_of("rule.test"), 3) << "what cannot be read may be `off`";
  serving.cancel();
  loop_.run();
}

// The daemon's list counts before any broker has sent one, and whatever a broker sends.
TEST_F(SandboxEgressTest, WhatIsWrittenOfItsRulesCountsWithoutABroker) {
  UniqueFd stream = bound(SOCK_STREAM), datagrams = bound(SOCK_DGRAM);
  Asking code_of(loop_, datagrams);
  auto asks = os::socket_pair();
  ASSERT_TRUE(asks);
  const KeeperDialer nobody(std::move(asks->theirs));
  Handover handover(loop_.get_executor(), nobody);
  wire::WrittenRoutes written;
  written.routes.sandbox_id = "id";
  written.routes.hosts = {"rule.test"};
  written.routes.fences = {"fence.test"};
  written.whole = true;
  const std::string whole = wire::encode(written);
  ASSERT_TRUE(os::replace_file(directory_.get(), "id.sock", "",
                               0600));  // its keeper is there: else nothing is written of it
  const auto write = [&](const std::string& bytes) {
    ASSERT_TRUE(os::replace_file(directory_.get(), "id.routes", bytes, 0600));
  };
  write(whole);
  const LookUp found = [](const std::string&) {
    return Resolved{Resolved::Outcome::kFound, {*IpAddress::parse("198.18.7.7")}};
  };
  GateContext context = context_of(directory_.get(), found);
  context.handover = &handover;
  std::vector<UniqueFd> sockets;
  sockets.push_back(std::move(stream));
  sockets.push_back(std::move(datagrams));
  {
    SandboxEgress egress(context, "id", "packages", std::move(sockets));
    Scope serving(loop_.get_executor());
    serving.spawn(egress.run());
    EXPECT_EQ(code_of("rule.test"), 0);
    EXPECT_TRUE(handover.takes("id", "rule.test", 443));
    EXPECT_TRUE(handover.fences("id", "fence.test", 443));
    EXPECT_TRUE(handover.fenced_off("id", "fence.test", 80));
    EXPECT_FALSE(handover.any_at("other", 443)) << "another sandbox";
    EXPECT_EQ(code_of("pypi.org"), 0) << "and its policy for all else";
    for (std::size_t size = 0; size < whole.size(); ++size) {
      write(whole.substr(0, size));
      egress.reload_policy();
      ASSERT_EQ(code_of("pypi.org"), 3) << "cut short, it may have had fences: at " << size;
      ASSERT_TRUE(handover.fences("id", "fence.test", 443));
    }
    const auto is_told = [&] {
      const auto text = os::read_file(directory_.get(), "id.net", 1 << 20);
      return text && text->find("policy_unreadable") != std::string::npos;
    };
    while (!is_told()) loop_.run_one();
    written.routes.fences.clear();
    write(wire::encode(written));
    egress.reload_policy();
    EXPECT_EQ(code_of("pypi.org"), 0);
    EXPECT_FALSE(handover.fences("id", "fence.test", 443)) << "it was taken away";
    EXPECT_TRUE(handover.takes("id", "rule.test", 443));
    ASSERT_EQ(::unlinkat(directory_.get(), "id.routes", 0), 0);
    egress.reload_policy();
    EXPECT_FALSE(handover.takes("id", "rule.test", 443));
    EXPECT_EQ(code_of("pypi.org"), 0) << "without a file there is no rule";
    write(whole);
    egress.reload_policy();
    serving.cancel();
    loop_.run();
  }
  EXPECT_FALSE(handover.takes("id", "rule.test", 443))
      << "nothing is kept of a sandbox that is gone";
}

}  // namespace
}  // namespace cay::gate
