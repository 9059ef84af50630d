#include "gate/door.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/ioctl.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <functional>

#include "async/testing.h"
#include "os/file.h"

namespace cay::gate {
namespace {

TEST(RoomTest, ManyConnectionsOfOneLeaveRoomForOthers) {
  constexpr std::size_t kMost = 1000;
  EXPECT_TRUE(Door::has_room(0, 0, kMost, 1));
  EXPECT_TRUE(Door::has_room(749, 749, kMost, 2)) << "alone it may have most";
  EXPECT_FALSE(Door::has_room(750, 750, kMost, 2));
  EXPECT_TRUE(Door::has_room(0, 750, kMost, 2)) << "another's share is kept";
  EXPECT_TRUE(Door::has_room(124, 874, kMost, 2));
  EXPECT_FALSE(Door::has_room(125, 875, kMost, 2));
  EXPECT_FALSE(Door::has_room(0, kMost, kMost, 1));
  EXPECT_FALSE(Door::has_room(Door::kMostConnections, Door::kMostConnections, 1 << 20, 1));
}

class DoorTest : public ::testing::Test {
 protected:
  DoorTest() {
    char path[] = "/tmp/cay-door-XXXXXX";
    path_ = ::mkdtemp(path);
    directory_ = UniqueFd(::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  }
  ~DoorTest() override { EXPECT_TRUE(os::remove_tree(AT_FDCWD, path_)); }

  UniqueFd bound(int type) {
    UniqueFd fd(::socket(AF_INET, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::bind(fd.get(), reinterpret_cast<const sockaddr*>(&at), sizeof at), 0);
    if (type == SOCK_STREAM) EXPECT_EQ(::listen(fd.get(), 128), 0);
    return fd;
  }

  std::string path_;
  UniqueFd directory_;
  asio::io_context loop_;
};

TEST_F(DoorTest, AFloodOfQuestionsLeavesOthersTheirTurns) {
  UniqueFd stream = bound(SOCK_STREAM), datagrams = bound(SOCK_DGRAM);
  const UniqueFd door_end(::fcntl(datagrams.get(), F_DUPFD_CLOEXEC, 0));
  sockaddr_in at{};
  socklen_t size = sizeof at;
  ASSERT_EQ(::getsockname(datagrams.get(), reinterpret_cast<sockaddr*>(&at), &size), 0);
  const UniqueFd guest(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  for (int i = 0; i < 200; ++i) ASSERT_EQ(::sendto(guest.get(), "x", 1, 0, reinterpret_cast<const sockaddr*>(&at), size), 1);
  House house{loop_.get_executor(), directory_.get(), nullptr, Reachable({}), Resolver(loop_.get_executor()), PipePool(), 100, SocketMemory(0, 0, KernelBuffers::of_host())};
  std::vector<UniqueFd> sockets;
  sockets.push_back(std::move(stream));
  sockets.push_back(std::move(datagrams));
  Door door(house, "id", "off", std::move(sockets));
  Scope serving(loop_.get_executor());
  serving.spawn(door.run());
  // Somebody else on the loop: how often it has a turn before all of them are read.
  int turns = 0;
  std::function<void()> turn = [&] {
    int waiting = 0;
    ::ioctl(door_end.get(), FIONREAD, &waiting);
    if (waiting == 0) return serving.cancel();
    ++turns;
    asio::post(loop_, turn);
  };
  asio::post(loop_, turn);
  loop_.run();
  EXPECT_GE(turns, 200 / kMostInARow);
}

}  // namespace
}  // namespace cay::gate
