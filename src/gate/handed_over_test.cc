#include "gate/handed_over.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <cerrno>
#include <string>
#include <utility>
#include <vector>

#include "base/testing/tcp.h"

namespace cay::gate {
namespace {

using cay::testing::comes;
using cay::testing::TcpPair;

struct Pair {
  Pair() {
    int fds[2] = {-1, -1};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
    ours = UniqueFd(fds[0]);
    brokers = UniqueFd(fds[1]);
  }
  UniqueFd ours, brokers;
};

TEST(HandedOverTest, ACutIsTheGuestsAtOnceThoughTheBrokerHasTheSocketToo) {
  TcpPair tcp;
  Pair pair;
  const UniqueFd brokers(::fcntl(tcp.ours.get(), F_DUPFD_CLOEXEC, 0));  // as SCM_RIGHTS gives it
  HandedOver all;
  const HandedOver::One one{
      .host = "api.test", .meant = {}, .guest = std::move(tcp.ours), .broker = pair.ours.get()};
  const auto entered = all.enter(one);
  EXPECT_EQ(comes(tcp.theirs, 0), -1);
  EXPECT_EQ(comes(pair.brokers, 0), -1) << "the control";
  std::vector<std::string> told;
  const auto tell = [&](const HandedOver::One& cut) { told.push_back(cut.host); };
  all.cut([](const HandedOver::One&) { return false; }, tell);
  EXPECT_EQ(comes(tcp.theirs, 0), -1) << "one that stays";
  const auto any = [](const HandedOver::One&) { return true; };
  all.cut(any, tell);
  EXPECT_EQ(comes(tcp.theirs, 1000), ECONNRESET);
  EXPECT_EQ(comes(pair.brokers, 1000), 0) << "the broker sees that it is over";
  char byte = 'x';
  EXPECT_LT(::send(brokers.get(), &byte, 1, MSG_NOSIGNAL), 0)
      << "and can say nothing more to the guest";
  ASSERT_EQ(::send(pair.brokers.get(), "w", 1, MSG_NOSIGNAL), 1);
  EXPECT_EQ(::recv(pair.ours.get(), &byte, 1, MSG_DONTWAIT), 1) << "its last word is heard";
  all.cut(any, tell);
  EXPECT_EQ(told, std::vector<std::string>{"api.test"}) << "once";
}

TEST(HandedOverTest, OneThatIsOverIsLeftAlone) {
  TcpPair tcp;
  Pair pair;
  HandedOver all;
  const HandedOver::One one{
      .host = "api.test", .meant = {}, .guest = std::move(tcp.ours), .broker = pair.ours.get()};
  {
    const auto entered = all.enter(one);
  }
  all.cut([](const HandedOver::One&) { return true; }, [](const HandedOver::One&) { FAIL(); });
  EXPECT_EQ(comes(tcp.theirs, 0), -1);
}

}  // namespace
}  // namespace cay::gate
