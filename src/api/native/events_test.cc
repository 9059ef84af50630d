#include "api/native/native_test.h"
#include "core/verbs/events.h"

namespace cay::api {
namespace {

using codec::json::array;

class NativeEventsTest : public NativeTest {
 protected:
  using ExchangeHandle = testing::ExchangeHandle;

  static std::vector<std::string> types(const codec::json::object& page) {
    std::vector<std::string> out;
    for (const auto& item : page.at("items").as_array())
      out.emplace_back(item.at("type").as_string());
    return out;
  }
  codec::json::object page(const std::string& query) {
    return json(call("GET", "/api/v1/events" + query));
  }
  ExchangeHandle stream(const std::string& query) {
    auto handle = exchange("GET", "/api/v1/events" + query);
    handle->request.headers.add("Accept", "text/event-stream");
    return handle;
  }
};

TEST_F(NativeEventsTest, PagesGoOnWhereTheLastOneEnded) {
  make_box();
  const auto first = page("?limit=1");
  EXPECT_EQ(types(first), std::vector<std::string>{"sandbox.created"});
  EXPECT_EQ(first.at("next_after").to_number<int>(), 1);
  EXPECT_EQ(first.at("last").to_number<int>(), 2);
  EXPECT_TRUE(first.at("gap").is_null());
  const auto second = page("?after=1");
  EXPECT_EQ(types(second), std::vector<std::string>{"sandbox.started"});
  EXPECT_EQ(second.at("items").at(0).at("sandbox").as_string(), "box");
  EXPECT_TRUE(types(page("?after=now")).empty());
}

TEST_F(NativeEventsTest, ALongPollEndsWithTheFirstEvent) {
  make_box();
  auto waiting = begin(exchange("GET", "/api/v1/events?after=2&wait_s=60"));
  EXPECT_FALSE(waiting.done());
  call("POST", "/api/v1/sandboxes/box/stop");
  settle();
  ASSERT_TRUE(waiting.done());
  EXPECT_EQ(types(json(waiting.exchange)), std::vector<std::string>{"sandbox.stopped"});
}

TEST_F(NativeEventsTest, AStreamTellsWhatIsGoneAndGoesOn) {
  make_box();
  store.pruned_through[TenantId("t1")] = 1;
  auto handle = stream("");
  handle->request.headers.add("Last-Event-ID", "0");
  auto following = begin(handle);
  settle();
  EXPECT_NE(handle->answer_body.find("id: 1\nevent: gap\ndata: {\"from\":1,\"to\":1}\n\n"),
            std::string::npos)
      << handle->answer_body;
  EXPECT_NE(handle->answer_body.find("id: 2\nevent: sandbox.started\ndata: {"), std::string::npos);
  EXPECT_EQ(handle->headers.get("Content-Type"), "text/event-stream");
  call("POST", "/api/v1/sandboxes/box/stop");
  settle();
  EXPECT_NE(handle->answer_body.find("id: 3\nevent: sandbox.stopped\n"), std::string::npos);
  cay->events().end();  // the daemon ends
  settle();
  EXPECT_TRUE(following.done());
}

TEST_F(NativeEventsTest, APositionThatCannotBeIsRefusedBeforeTheStream) {
  EXPECT_EQ(reason_of(call("GET", "/api/v1/events?after=7")), "event_ahead");
  EXPECT_EQ(reason_of(serve(stream("?after=7"))), "event_ahead");
  EXPECT_EQ(reason_of(call("GET", "/api/v1/events?after=x")), "invalid_query");
  EXPECT_EQ(reason_of(call("GET", "/api/v1/events?after=18446744073709551615")), "invalid_query");
  EXPECT_EQ(reason_of(call("GET", "/api/v1/events?after=-1")), "invalid_query");
  EXPECT_EQ(reason_of(call("GET", "/api/v1/events?wait_s=61")), "invalid_query");
}

TEST_F(NativeEventsTest, OneTenantDoesNotSeeAnothers) {
  make_box();
  auto other = exchange("GET", "/api/v1/events");
  other->who = {TenantId("t2"), "key2"};
  EXPECT_TRUE(types(json(serve(other))).empty());
}

}  // namespace
}  // namespace cay::api
