// The ends of frames, and a close frame of ours between two of the service's.
#include "api/gateway/socket_relay.h"

#include <gtest/gtest.h>

#include <deque>

#include "async/piped.h"
#include "async/testing.h"

namespace cay::api {
namespace {

std::string frame(std::size_t size, char fill = 'x', char first = '\x82') {
  std::string out(1, first);
  if (size < 126) {
    out += static_cast<char>(size);
  } else if (size < 65536) {
    out += static_cast<char>(126);
    out += static_cast<char>(size >> 8);
    out += static_cast<char>(size);
  } else {
    out += static_cast<char>(127);
    for (int shift = 56; shift >= 0; shift -= 8) out += static_cast<char>(size >> shift);
  }
  return out + std::string(size, fill);
}

TEST(SocketFramesTest, AFrameEndsWhereItsLengthSaysHoweverItIsCut) {
  for (const std::size_t size : {0U, 1U, 125U, 126U, 65535U, 65536U, 70000U}) {
    const std::string one = frame(size);
    for (const std::size_t step : {1UL, 3UL, 1000UL, one.size()}) {
      SocketFrames frames;
      for (std::size_t at = 0; at < one.size(); at += step) {
        EXPECT_EQ(frames.between(), at == 0);
        frames.follow(std::string_view(one).substr(at, step));
      }
      EXPECT_TRUE(frames.between()) << size << " by " << step;
    }
    SocketFrames half;
    half.follow(std::string_view(one).substr(0, 1));
    EXPECT_EQ(half.rest_of_frame(one.substr(1) + frame(5)), one.size() - 1) << size;
    EXPECT_EQ(half.rest_of_frame(one.substr(1, one.size() - 2)), one.size() - 2) << "it may go on";
  }
  const std::string masked = std::string("\x82\x83", 2) + "mask" + "abc";
  SocketFrames frames;
  frames.follow(masked);
  EXPECT_TRUE(frames.between());
  frames.follow(frame(100000).substr(0, 10));
  EXPECT_EQ(frames.left(), 100000U);
  frames.skip(99999);
  EXPECT_FALSE(frames.between());
  frames.follow("x");
  EXPECT_TRUE(frames.between());
  EXPECT_EQ(frames.rest_of_frame("abc"), 0U);
  EXPECT_FALSE(frames.closed());
  frames.follow(close_frame(1000, "bye"));
  EXPECT_TRUE(frames.closed() && frames.between());
}

// Sends its bytes, then waits, and keeps what it receives.
class Side : public ByteStream {
 public:
  explicit Side(asio::any_io_executor loop) : changed_(std::move(loop)) {}
  void say(std::string bytes) {
    said.push_back(std::move(bytes));
    changed_.notify();
  }
  Task<Bytes> read() override {
    while (said.empty()) {
      co_await changed_.wait();
    }
    std::string out = std::move(said.front());
    said.pop_front();
    co_return out;
  }
  Task<void> write(Bytes bytes) override {
    heard += bytes;
    while (stuck) {
      co_await changed_.wait();
    }
    co_return Result<void>();
  }
  Task<void> shut_write() override {
    shut = true;
    co_return Result<void>();
  }
  std::deque<std::string> said;
  std::string heard;
  bool shut = false;
  bool stuck = false;  // takes one piece and no more

 private:
  Event changed_;
};

// One whose end can be seen without reading.
class SocketSide : public Side, public PipedStream {
 public:
  using Side::Side;
  bool can_splice() const override { return false; }
  Task<KernelPipe> read_piped(std::size_t) override { co_return KernelPipe(); }
  Task<void> write_piped(KernelPipe) override { co_return Result<void>(); }
  bool is_quiet() override { return false; }
  bool has_gone() override { return gone; }
  bool gone = false;
};

struct SocketRelayTest : ::testing::Test {
  asio::io_context loop;
  SocketSide client{loop.get_executor()};
  Side service{loop.get_executor()};
  Event cut{loop.get_executor()};
  SocketRelay relay{client, service, loop.get_executor()};
  bool over = false;

  void start() {
    asio::co_spawn(loop, relay.run(cut, [] { return RelayEnd{1008, "the link has expired"}; }),
                   [this](std::exception_ptr failure) {
                     EXPECT_FALSE(failure);
                     over = true;
                   });
    settle();
  }
  void settle() {
    loop.restart();
    loop.poll();
  }
  void finish() {
    loop.restart();
    loop.run_for(std::chrono::seconds(10));
    EXPECT_TRUE(over);
  }
};

const std::string kFarewell = close_frame(1008, "the link has expired");

TEST_F(SocketRelayTest, AClientThatWaitsIsToldSo) {
  service.say(frame(5));
  client.say("up");
  start();
  EXPECT_EQ(service.heard, "up");
  cut.set();
  settle();
  EXPECT_EQ(client.heard, frame(5) + kFarewell);
  EXPECT_TRUE(client.shut);
  client.say("");  // it has seen it
  finish();
}

TEST_F(SocketRelayTest, TheFrameUnderWayIsFinishedFirstAndNothingAfterIt) {
  const std::string last = frame(200);
  service.say(frame(5) + last.substr(0, 50));
  start();
  cut.set();
  settle();
  EXPECT_EQ(client.heard, frame(5) + last.substr(0, 50));
  service.say(last.substr(50) + frame(7));
  settle();
  EXPECT_EQ(client.heard, frame(5) + last + kFarewell);
  finish();  // a client that never parts is not waited for
}

TEST_F(SocketRelayTest, AFrameThatNeverEndsIsNoPlaceForWords) {
  service.say(frame(200).substr(0, 50));
  start();
  cut.set();
  finish();
  EXPECT_EQ(client.heard, frame(200).substr(0, 50));
  EXPECT_FALSE(client.shut) << "a reset";
}

TEST_F(SocketRelayTest, AClientThatIsGoneIsNoticedWhileTheServiceTakesNothing) {
  service.stuck = true;
  client.say("one");
  client.say("two");
  start();
  loop.restart();
  loop.run_for(std::chrono::milliseconds(1200));
  EXPECT_FALSE(over) << "it only waits";
  client.gone = true;
  finish();
  EXPECT_EQ(service.heard, "one");
}

TEST_F(SocketRelayTest, AClientThatIsGoneIsReadToItsEndWhileTheServiceTakesIt) {
  client.gone = true;
  client.say("one");
  start();
  loop.restart();
  loop.run_for(std::chrono::milliseconds(1200));
  EXPECT_FALSE(over) << "its end comes where it is read";
  client.say("");
  service.say("");
  finish();
  EXPECT_EQ(service.heard, "one");
}

TEST_F(SocketRelayTest, AfterTheServicesOwnCloseNothingFollows) {
  service.say(close_frame(1000, "bye"));
  start();
  cut.set();
  finish();
  EXPECT_EQ(client.heard, close_frame(1000, "bye"));
}

}  // namespace
}  // namespace cay::api
