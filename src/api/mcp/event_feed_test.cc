// The stream of one response: a silence, and what fills it.
#include "api/mcp/event_feed.h"

#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>

#include "async/testing.h"
#include "core/testing/run.h"

namespace cay::api::mcp {
namespace {

class EventFeedTest : public ::testing::Test {
 protected:
  std::string next(ByteSource& from) {
    auto got = core::testing::run(loop, from.next());
    EXPECT_TRUE(got);
    return got ? *got : "";
  }
  asio::io_context loop;
  const Millis beat{1};
};

TEST_F(EventFeedTest, ASilenceIsProgressThatGrows) {
  auto feed = std::make_shared<EventFeed>(loop.get_executor(), "t", beat);
  const auto source = EventFeed::source_of(feed);
  feed->report("four");
  EXPECT_NE(next(*source).find(R"("progress":4,"message":"four")"), std::string::npos);
  EXPECT_NE(next(*source).find(R"("progressToken":"t","progress":5})"), std::string::npos);
  EXPECT_NE(next(*source).find(R"("progressToken":"t","progress":6})"), std::string::npos);
  feed->finish("{}");
  EXPECT_EQ(next(*source), "event: message\ndata: {}\n\n");
  EXPECT_EQ(next(*source), "");
}

TEST_F(EventFeedTest, WithoutAProgressTokenASilenceIsAComment) {
  auto feed = std::make_shared<EventFeed>(loop.get_executor(), nullptr, beat);
  const auto source = EventFeed::source_of(feed);
  EXPECT_EQ(next(*source), ":\n\n");
}

}  // namespace
}  // namespace cay::api::mcp
