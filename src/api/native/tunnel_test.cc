#include "api/native/native_test.h"

namespace cay::api {
namespace {

constexpr std::size_t kWindow = 256 * 1024;

class NativeTunnelTest : public NativeTest {
 protected:
  NativeTunnelTest() {
    box = make_box();
    runtime.only_box().echo_ports = {80};
  }
  Running open() {
    auto handle = exchange("GET", box + "/tunnel?port=80");
    handle->request.wants_websocket = true;
    auto running = begin(handle);
    settle();
    EXPECT_EQ(handle->status, 101);
    EXPECT_EQ(handle->subject, "port 80") << "its query is not on record";
    socket = handle->socket;
    return running;
  }
  std::string refused(const std::string& query) {
    auto handle = exchange("GET", box + "/tunnel" + query);
    handle->request.wants_websocket = true;
    return reason_of(serve(handle));
  }
  // Bytes since the last look, and the text frames among them.
  std::string bytes() {
    std::string out;
    for (const auto& one : socket->sent) (one.binary ? out : texts) += one.data;
    socket->sent.clear();
    return out;
  }

  std::string box, texts;
  std::shared_ptr<testing::FakeWebSocket> socket;
};

TEST_F(NativeTunnelTest, BytesGoBothWaysAndEachSideEndsForItself) {
  auto running = open();
  socket->client_binary("hello");
  settle();
  EXPECT_EQ(bytes(), "hello");
  socket->client_text(R"({"type":"eof"})");
  settle();
  EXPECT_EQ(bytes(), "");
  EXPECT_EQ(texts, R"({"type":"eof"})");
  EXPECT_TRUE(running.done());
  EXPECT_EQ(socket->closed_with, 1000);
  EXPECT_EQ(runtime.only_box().tunnels, 0);
}

TEST_F(NativeTunnelTest, CreditHoldsBothSidesBack) {
  auto running = open();
  const std::string piece(64 * 1024, 'x');
  std::size_t back = 0;
  for (int i = 0; i < 6; ++i) {
    socket->client_binary(piece);
    settle();
    back += bytes().size();
  }
  EXPECT_EQ(back, kWindow) << "as much as the client takes without credit";
  socket->client_text(R"({"type":"credit","bytes":1000})");
  settle();
  EXPECT_EQ(bytes().size(), 1000u);
  EXPECT_NE(texts.find(R"({"type":"credit","bytes":65536})"), std::string::npos) << texts;
  socket->client_close();
  settle();
  EXPECT_TRUE(running.done());
  EXPECT_EQ(runtime.only_box().tunnels, 0);
}

TEST_F(NativeTunnelTest, MoreThanTheCreditEndsItWithWords) {
  auto running = open();
  for (int i = 0; i < 20; ++i) socket->client_binary(std::string(64 * 1024, 'x'));
  settle();
  bytes();
  EXPECT_NE(texts.find("tunnel_overrun"), std::string::npos);
  EXPECT_TRUE(running.done());
}

TEST_F(NativeTunnelTest, ABrokenConnectionIsTold) {
  auto running = open();
  runtime.only_box().tunnel_error = Error{Code::kCancelled, "connection_reset", "broken", 0};
  socket->client_binary("hi");
  settle();
  bytes();
  EXPECT_NE(texts.find("connection_reset"), std::string::npos) << texts;
  EXPECT_EQ(socket->closed_with, 1000);
  EXPECT_TRUE(running.done());
}

TEST_F(NativeTunnelTest, RefusalsAreOrdinaryAnswers) {
  EXPECT_EQ(refused("?port=81"), "connect_refused");
  EXPECT_EQ(refused(""), "invalid_port");
  EXPECT_EQ(refused("?port=65536"), "invalid_query");
  EXPECT_EQ(reason_of(call("GET", box + "/tunnel?port=80")), "upgrade_needed");
}

TEST_F(NativeTunnelTest, NonsenseIsTold) {
  auto running = open();
  socket->client_text("{}");
  settle();
  bytes();
  EXPECT_NE(texts.find("bad_frame"), std::string::npos);
  EXPECT_TRUE(running.done());
}

}  // namespace
}  // namespace cay::api
