#include "api/langsmith/langsmith_test.h"
#include "api/langsmith/yamux.h"
#include "api/langsmith/yamux_frames.h"

namespace cay::api::langsmith {
namespace {

using testing::Frame;
using testing::frame;
using testing::frames_of;

class LangsmithTunnelTest : public LangsmithTest {
 protected:
  LangsmithTunnelTest() {
    base = data_plane(make_box());
    runtime.only_box().echo_ports = {5432};
  }
  Running open() {
    auto handle = exchange("GET", base + "/tunnel");
    handle->request.wants_websocket = true;
    auto running = begin(handle);
    settle();
    EXPECT_EQ(handle->status, 101);
    socket = handle->socket;
    return running;
  }
  void send(const std::string& bytes) {
    socket->client_binary(bytes);
    settle();
  }
  static std::string request(std::uint32_t stream, std::uint16_t port, char version = 1) {
    return frame(
        0, 0, stream, 3,
        std::string{version, static_cast<char>(port >> 8), static_cast<char>(port & 0xff)});
  }
  // Opens a stream to `port`, and checks the status.
  void stream(std::uint32_t id, std::uint16_t port, char status = 0) {
    send(frame(1, 1, id, 0) + request(id, port));
    EXPECT_EQ(data(id), std::string(1, status));
  }
  // All frames since the last look.
  std::vector<Frame> said() {
    std::string bytes;
    for (const auto& one : socket->sent) {
      EXPECT_TRUE(one.binary);
      bytes += one.data;
    }
    socket->sent.clear();
    return frames_of(bytes);
  }
  // The payload for one stream among them.
  std::string data(std::uint32_t id) {
    std::string out;
    for (const auto& one : said()) {
      if (one.stream == id) out += one.payload;
    }
    return out;
  }

  std::string base;
  std::shared_ptr<testing::FakeWebSocket> socket;
};

TEST_F(LangsmithTunnelTest, BytesGoBothWaysAndEndsAreTold) {
  auto running = open();
  stream(1, 5432);
  send(frame(0, 0, 1, 5, "hello"));
  EXPECT_EQ(data(1), "hello");
  send(frame(0, 4, 1, 0));
  EXPECT_EQ(said(), (std::vector<Frame>{{0, 4, 1, 0, ""}}));
  EXPECT_EQ(runtime.only_box().tunnels, 0);
  EXPECT_FALSE(running.done()) << "the session goes on";
  send(frame(3, 0, 0, 0));
  EXPECT_TRUE(running.done());
  EXPECT_EQ(socket->closed_with, 1000);
}

// One path is for all of them, so the record of requests has them.
TEST_F(LangsmithTunnelTest, ThePortsThatWereReachedAreOnRecord) {
  runtime.only_box().echo_ports = {80, 5432};
  auto running = open();
  EXPECT_EQ(running.exchange->subject, "");
  stream(1, 5432);
  stream(3, 1, 2);
  stream(5, 5432);
  stream(7, 80);
  EXPECT_EQ(running.exchange->subject, "ports 2: 5432, 80");
  socket->client_close();
  settle();
  EXPECT_TRUE(running.done());
}

TEST_F(LangsmithTunnelTest, RefusalsHaveTheirStatus) {
  auto running = open();
  stream(1, 1, 2);
  stream(3, 0, 1);
  send(frame(1, 1, 5, 0) + request(5, 5432, 9));
  const auto frames = said();
  ASSERT_EQ(frames.size(), 3u);
  EXPECT_EQ(frames[1].payload, "\3");
  EXPECT_EQ(frames[2], (Frame{0, 4, 5, 0, ""}));
  socket->client_close();
  settle();
  EXPECT_TRUE(running.done());
}

TEST_F(LangsmithTunnelTest, AStreamThatIsNotReadHoldsUpNoOther) {
  auto running = open();
  stream(1, 5432);
  stream(3, 5432);
  // The first is fed until its window is full both ways; the client gives it no credit.
  const std::string piece(64 * 1024, 'x');
  std::uint32_t window = YamuxStreams::kWindow;  // what stream 1 may still send
  std::size_t back = 0;
  while (window >= piece.size()) {
    send(frame(0, 0, 1, static_cast<std::uint32_t>(piece.size()), piece));
    window -= static_cast<std::uint32_t>(piece.size());
    for (const auto& one : said()) {
      back += one.payload.size();
      if (one.type == 1) window += one.length;
    }
  }
  EXPECT_EQ(back, YamuxStreams::kWindow - 1) << "the status byte took its part";
  send(frame(0, 0, 3, 2, "hi"));
  EXPECT_EQ(data(3), "hi");
  send(frame(1, 0, 1, 1000));
  EXPECT_EQ(data(1).size(), 1000u);
  socket->client_close();
  settle();
  EXPECT_TRUE(running.done());
  EXPECT_EQ(runtime.only_box().tunnels, 0);
}

TEST_F(LangsmithTunnelTest, AResetEndsTheConnectionAndABrokenConnectionTheStream) {
  auto running = open();
  stream(1, 5432);
  stream(3, 5432);
  EXPECT_EQ(runtime.only_box().tunnels, 2);
  send(frame(1, 8, 1, 0));
  EXPECT_EQ(runtime.only_box().tunnels, 1);
  runtime.only_box().tunnel_error = Error{Code::kCancelled, "connection_reset", "broken", 0};
  send(frame(0, 0, 3, 2, "hi"));
  const auto frames = said();
  ASSERT_FALSE(frames.empty());
  EXPECT_EQ(frames.back(), (Frame{1, 8, 3, 0, ""}));
  EXPECT_EQ(runtime.only_box().tunnels, 0);
  send(frame(3, 0, 0, 0));
  EXPECT_TRUE(running.done());
}

TEST_F(LangsmithTunnelTest, BrokenRulesEndTheSessionWithAGoAway) {
  auto running = open();
  send(frame(1, 1, 2, 0));
  EXPECT_EQ(said().back(), (Frame{3, 0, 0, 1, ""}));
  EXPECT_TRUE(running.done());
  EXPECT_EQ(socket->closed_with, 1002);
}

TEST_F(LangsmithTunnelTest, PlainRequestsAndUnknownBoxesAreRefused) {
  EXPECT_EQ(call("GET", base + "/tunnel")->status, 400);
  auto handle = exchange("GET", "/v2/sandboxes/dp/none/tunnel");
  handle->request.wants_websocket = true;
  EXPECT_EQ(serve(handle)->status, 404);
}

}  // namespace
}  // namespace cay::api::langsmith
