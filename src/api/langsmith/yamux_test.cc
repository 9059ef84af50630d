#include "api/langsmith/yamux.h"

#include <gtest/gtest.h>

#include "api/langsmith/yamux_frames.h"

namespace cay::api::langsmith {
namespace {

using testing::Frame;
using testing::frame;
using testing::frames_of;
using Kind = Yamux::Event::Kind;

class YamuxTest : public ::testing::Test {
 protected:
  bool feed(std::string bytes) { return yamux.feed(fed_.emplace_back(std::move(bytes))); }
  // Takes the bytes for the peer.
  std::vector<Frame> said() { return frames_of(std::exchange(yamux.out(), {})); }
  std::vector<Yamux::Event> events() {
    std::vector<Yamux::Event> out;
    while (auto event = yamux.next()) out.push_back(*std::move(event));
    return out;
  }
  void open(Yamux::Id id) {
    ASSERT_TRUE(feed(frame(1, 1, id, 0)));
    events();
    said();
  }
  Yamux yamux;

 private:
  std::deque<std::string> fed_;  // events refer to it
};

TEST_F(YamuxTest, AnOpenedStreamIsAcknowledged) {
  ASSERT_TRUE(feed(frame(1, 1, 1, 0)));
  const auto seen = events();
  ASSERT_EQ(seen.size(), 1u);
  EXPECT_EQ(seen[0].kind, Kind::kOpened);
  EXPECT_EQ(seen[0].stream, 1u);
  EXPECT_EQ(said(), (std::vector<Frame>{{1, 2, 1, 0, ""}}));
}

TEST_F(YamuxTest, AStreamMayOpenWithCreditOrWithData) {
  ASSERT_TRUE(feed(frame(1, 1, 1, 1000) + frame(0, 1, 3, 2, "hi")));
  EXPECT_EQ(yamux.sendable(1), YamuxStreams::kWindow + 1000);
  EXPECT_EQ(yamux.sendable(3), YamuxStreams::kWindow);
  const auto seen = events();
  EXPECT_EQ(seen.back().kind, Kind::kData);
  EXPECT_EQ(seen.back().bytes, "hi");
}

TEST_F(YamuxTest, FramesComeInAnyPieces) {
  const std::string bytes = frame(1, 1, 1, 0) + frame(0, 0, 1, 5, "hello") + frame(0, 4, 1, 0);
  std::string got;
  bool ended = false;
  for (const char byte : bytes) {
    ASSERT_TRUE(feed(std::string(1, byte)));
    for (const auto& event : events()) {
      got += event.bytes;
      ended |= event.kind == Kind::kFin;
    }
  }
  EXPECT_EQ(got, "hello");
  EXPECT_TRUE(ended);
}

TEST_F(YamuxTest, OurWindowIsGivenBackAsItIsConsumed) {
  open(1);
  const std::string half(YamuxStreams::kWindow / 2, 'x');
  ASSERT_TRUE(feed(frame(0, 0, 1, YamuxStreams::kWindow / 2, half)));
  EXPECT_TRUE(said().empty());
  yamux.consumed(1, 10);
  EXPECT_TRUE(said().empty()) << "in steps, not for each read";
  yamux.consumed(1, YamuxStreams::kWindow / 2 - 10);
  EXPECT_EQ(said(), (std::vector<Frame>{{1, 0, 1, YamuxStreams::kWindow / 2, ""}}));
  ASSERT_TRUE(feed(frame(0, 0, 1, YamuxStreams::kWindow, std::string(YamuxStreams::kWindow, 'y'))));
}

TEST_F(YamuxTest, AFewStreamsThatMoveMuchMayHaveMoreUnderWay) {
  // Moves a window's worth at a time until a MiB has gone, and returns the sum of the grants.
  const auto move_much = [this](Yamux::Id id) {
    open(id);
    std::uint64_t granted = 0, moved = 0;
    for (; moved < YamuxStreams::kWorthWide; moved += YamuxStreams::kWindow) {
      EXPECT_TRUE(
          feed(frame(0, 0, id, YamuxStreams::kWindow, std::string(YamuxStreams::kWindow, 'x'))));
      events();
      yamux.consumed(id, YamuxStreams::kWindow);
      for (const auto& one : said()) granted += one.length;
    }
    return granted - moved;
  };
  Yamux::Id id = 1;
  for (std::size_t i = 0; i < YamuxStreams::kMostWide; ++i, id += 2) {
    EXPECT_EQ(move_much(id), YamuxStreams::kWideWindow - YamuxStreams::kWindow) << id;
    ASSERT_TRUE(feed(
        frame(0, 0, id, YamuxStreams::kWideWindow, std::string(YamuxStreams::kWideWindow, 'y'))));
    EXPECT_EQ(events().back().bytes.size(), YamuxStreams::kWideWindow);
  }
  EXPECT_EQ(move_much(id), 0u) << "the others have the protocol's own";
  ASSERT_TRUE(feed(frame(1, 8, 1, 0)));
  EXPECT_EQ(move_much(id + 2), YamuxStreams::kWideWindow - YamuxStreams::kWindow)
      << "one that has ended leaves its place";
  EXPECT_FALSE(feed(
      frame(0, 0, id, YamuxStreams::kWindow + 1, std::string(YamuxStreams::kWindow + 1, 'z'))));
}

TEST_F(YamuxTest, APayloadThatIsSentByOthersTakesItsPartOfTheWindow) {
  open(1);
  EXPECT_EQ(yamux.head_of_data(1, 1000), frame(0, 0, 1, 1000));
  EXPECT_EQ(yamux.sendable(1), YamuxStreams::kWindow - 1000);
  yamux.reset(1);
  said();
  EXPECT_EQ(yamux.head_of_data(1, 5), frame(0, 0, 1, 5))
      << "its payload is on its way already: the peer drops it";
}

TEST_F(YamuxTest, MoreThanTheWindowBreaksTheRules) {
  open(1);
  ASSERT_TRUE(feed(frame(0, 0, 1, YamuxStreams::kWindow, std::string(YamuxStreams::kWindow, 'x'))));
  EXPECT_FALSE(feed(frame(0, 0, 1, 1, "x")));
  EXPECT_EQ(said(), (std::vector<Frame>{{3, 0, 0, 1, ""}}));
  EXPECT_FALSE(feed(frame(1, 1, 3, 0))) << "nothing more is taken";
}

TEST_F(YamuxTest, ThePeersWindowIsRespected) {
  open(1);
  yamux.send(1, std::string(YamuxStreams::kWindow + 5, 'x'));
  std::size_t sent = 0;
  for (const auto& one : said()) {
    EXPECT_LE(one.payload.size(), Yamux::kMostPayload);
    sent += one.payload.size();
  }
  EXPECT_EQ(sent, YamuxStreams::kWindow);
  EXPECT_EQ(yamux.sendable(1), 0u);
  ASSERT_TRUE(feed(frame(1, 0, 1, 700)));
  EXPECT_EQ(events().back().kind, Kind::kWindow);
  EXPECT_EQ(yamux.sendable(1), 700u);
  EXPECT_FALSE(feed(frame(1, 0, 1, 0xFFFFFFFF))) << "a window past 32 bits";
}

TEST_F(YamuxTest, EachSideEndsForItself) {
  open(1);
  ASSERT_TRUE(feed(frame(0, 4, 1, 0)));
  EXPECT_EQ(events().back().kind, Kind::kFin);
  yamux.send(1, "after their end");
  EXPECT_EQ(said().at(0).payload, "after their end");
  yamux.fin(1);
  EXPECT_EQ(said(), (std::vector<Frame>{{0, 4, 1, 0, ""}}));
  EXPECT_EQ(yamux.streams(), 0u);
  yamux.send(1, "late");
  EXPECT_TRUE(said().empty());

  open(3);
  yamux.fin(3);
  ASSERT_TRUE(feed(frame(0, 0, 3, 2, "on")));
  EXPECT_EQ(events().back().bytes, "on") << "after our end they may still send";
  EXPECT_FALSE((feed(frame(0, 4, 3, 0)), feed(frame(0, 4, 5, 0)), yamux.broken()));
}

TEST_F(YamuxTest, DataAfterAnEndBreaksTheRules) {
  open(1);
  ASSERT_TRUE(feed(frame(0, 4, 1, 0)));
  EXPECT_FALSE(feed(frame(0, 0, 1, 1, "x")));
}

TEST_F(YamuxTest, AResetStreamIsForgottenAndItsLateDataDrained) {
  open(1);
  open(3);
  ASSERT_TRUE(feed(frame(1, 8, 1, 0)));
  EXPECT_EQ(events().back().kind, Kind::kReset);
  yamux.reset(3);
  EXPECT_EQ(said(), (std::vector<Frame>{{1, 8, 3, 0, ""}}));
  EXPECT_EQ(yamux.streams(), 0u);
  ASSERT_TRUE(feed(frame(0, 0, 1, 4, "late") + frame(0, 0, 3, 4, "late") + frame(0, 4, 3, 0)));
  EXPECT_TRUE(events().empty());
}

TEST_F(YamuxTest, PingsAreAnsweredAndAnswersAreNot) {
  ASSERT_TRUE(feed(frame(2, 1, 0, 0xDEADBEEF)));
  EXPECT_EQ(said(), (std::vector<Frame>{{2, 2, 0, 0xDEADBEEF, ""}}));
  ASSERT_TRUE(feed(frame(2, 2, 0, 7)));
  EXPECT_TRUE(said().empty());
}

TEST_F(YamuxTest, AGoAwayIsTold) {
  ASSERT_TRUE(feed(frame(3, 0, 0, 0)));
  EXPECT_EQ(events().back().kind, Kind::kGoAway);
}

TEST_F(YamuxTest, NonsenseIsAnsweredByAGoAway) {
  const std::string version("\x01\0\0\0\0\0\0\x01\0\0\0\0", 12);
  for (const std::string& bytes : {version, frame(4, 0, 1, 0), frame(1, 1, 2, 0), frame(1, 1, 0, 0),
                                   frame(2, 1, 5, 0), frame(1, 1, 7, 0) + frame(1, 1, 7, 0),
                                   frame(1, 1, 7, 0) + frame(1, 1, 5, 0) + frame(1, 1, 5, 0),
                                   frame(1, 1, 1, 0) + frame(1, 1, 3, 0) + frame(1, 1, 1, 0)}) {
    Yamux one;
    EXPECT_FALSE(one.feed(bytes));
    EXPECT_TRUE(one.broken());
    EXPECT_EQ(frames_of(one.out()).back(), (Frame{3, 0, 0, 1, ""}));
  }
}

TEST_F(YamuxTest, OfStreamsThatAreOpenedAtOnceTheLaterMayComeFirst) {
  for (const Yamux::Id id : {5U, 1U, 3U, 9U, 7U}) {
    ASSERT_TRUE(feed(frame(1, 1, id, 0))) << id;
    EXPECT_EQ(said(), (std::vector<Frame>{{1, 2, id, 0, ""}}));
  }
  EXPECT_EQ(yamux.streams(), 5U);
  EXPECT_FALSE(feed(frame(1, 1, 3, 0))) << "none is opened twice";
}

TEST_F(YamuxTest, HowManyMayComeLateIsBounded) {
  ASSERT_TRUE(feed(frame(1, 1, 0xffffffff, 0)));  // skips two thousand million
  ASSERT_TRUE(feed(frame(1, 1, 0xfffffffd, 0)));
  ASSERT_TRUE(feed(frame(1, 1, 0xffffffff - 2 * YamuxIds::kMostSkipped, 0)));
  EXPECT_FALSE(feed(frame(1, 1, 0xffffffff - 2 * YamuxIds::kMostSkipped - 2, 0)));
}

TEST_F(YamuxTest, StreamsAreBounded) {
  for (Yamux::Id id = 1; yamux.streams() < YamuxStreams::kMost; id += 2) open(id);
  ASSERT_TRUE(feed(frame(1, 1, 9001, 0)));
  EXPECT_TRUE(events().empty());
  EXPECT_EQ(said(), (std::vector<Frame>{{1, 8, 9001, 0, ""}}));
  EXPECT_EQ(yamux.streams(), YamuxStreams::kMost);
}

}  // namespace
}  // namespace cay::api::langsmith
