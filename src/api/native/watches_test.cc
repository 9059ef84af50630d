// Watched directories: pages, lines, and the messages of a WebSocket.
#include "api/native/native_test.h"

namespace cay::api {
namespace {

class WatchesTest : public NativeTest {
 protected:
  WatchesTest() {
    make_box();
    feed = std::make_shared<core::testing::FakeLiveFileChanges::Feed>(loop.get_executor());
    runtime.only_box().feed = feed;
    const auto made = call("POST", "/api/v1/sandboxes/box/watches", R"({"path":"/d"})");
    EXPECT_EQ(made->status, 201) << made->answer_body;
    events =
        "/api/v1/sandboxes/box/watches/" + std::string(json(made).at("id").as_string()) + "/events";
  }
  void happens(const std::string& path) {
    feed->events.push_back({.kind = FileEventKind::kCreated, .path = path});
    feed->changed.notify();
    settle();
  }
  Running open(const std::string& query = {}) {
    auto handle = exchange("GET", events + query);
    handle->request.wants_websocket = true;
    auto running = begin(handle);
    socket = handle->socket;
    return running;
  }
  std::string sent(std::size_t i) const {
    return i < socket->sent.size() ? socket->sent[i].data : "";
  }

  std::shared_ptr<core::testing::FakeLiveFileChanges::Feed> feed;
  std::shared_ptr<testing::FakeWebSocket> socket;
  std::string events;
};

TEST_F(WatchesTest, ASocketHasTheLinesAsMessages) {
  happens("/d/a");
  happens("/d/b");
  auto running = open();
  ASSERT_NE(socket, nullptr);
  ASSERT_EQ(socket->sent.size(), 2u);
  EXPECT_EQ(sent(0), R"({"seq":1,"kind":"created","path":"/d/a","directory":false})");
  happens("/d/c");
  EXPECT_NE(sent(2).find(R"("seq":3)"), std::string::npos) << sent(2);
  feed->end = Error{Code::kLost, "keeper_lost", "the sandbox was stopped", 0};
  feed->changed.notify();
  settle();
  EXPECT_NE(sent(3).find(R"("kind":"end")"), std::string::npos) << sent(3);
  EXPECT_NE(sent(3).find("keeper_lost"), std::string::npos) << sent(3);
  EXPECT_EQ(socket->closed_with, 1000);
  EXPECT_TRUE(running.done());
}

TEST_F(WatchesTest, ASocketThatItsClientClosesEndsItsReader) {
  happens("/d/a");
  auto running = open("?after=1");
  ASSERT_NE(socket, nullptr);
  EXPECT_EQ(sent(0), R"({"kind":"quiet","seq":1})");
  socket->client_text("nobody needs this");
  settle();
  EXPECT_FALSE(running.done());
  socket->client_close();
  settle();
  EXPECT_TRUE(running.done());
  EXPECT_TRUE(feed->watched);  // the watch goes on for the next one
}

TEST_F(WatchesTest, ASocketOfNoWatchIsAnOrdinaryError) {
  auto handle = exchange("GET", events + "?after=7");
  handle->request.wants_websocket = true;
  EXPECT_EQ(serve(handle)->status, 416);
  EXPECT_EQ(reason_of(handle), "offset_past_end");
  EXPECT_EQ(handle->max_message, 0U) << "it was not upgraded";
}

}  // namespace
}  // namespace cay::api
