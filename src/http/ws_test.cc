// WebSockets: raw frames against the server's side, and our client against our server.
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <future>
#include <thread>
#include <vector>

#include "async/deadline.h"
#include "async/event.h"
#include "async/scope.h"
#include "http/client.h"
#include "http/listener.h"
#include "http/piped_socket.h"
#include "http/testing/loop_thread.h"
#include "http/testing/raw_client.h"
#include "http/testing/ws_frames.h"

namespace cay::http {
namespace {

using namespace std::chrono_literals;
using testing::close_payload;
using testing::encode_frame;
using testing::RawClient;
using testing::TestServer;
using testing::WsOpcode;
using testing::WsRole;
using SharedExchange = std::shared_ptr<Exchange>;

constexpr const char* kUpgrade =
    "GET /ws HTTP/1.1\r\nHost: x\r\nConnection: keep-alive, Upgrade\r\nUpgrade: WebSocket\r\n"
    "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
    "Sec-WebSocket-Extensions: permessage-deflate\r\n\r\n";

std::string frame(WsOpcode opcode, std::string_view payload) {
  return encode_frame(WsRole::kClient, opcode, payload);
}

// First byte of a frame that is not the last of its message.
std::string fragment(WsOpcode opcode, std::string_view payload) {
  auto bytes = frame(opcode, payload);
  bytes[0] = static_cast<char>(static_cast<unsigned char>(bytes[0]) & 0x7f);
  return bytes;
}

// Sends back what it gets; writes how the end looked into `end`.
struct EchoSocket {
  std::promise<WsMessage> end;
  std::vector<std::string> got;
  std::size_t max_message = 1 << 20;

  asio::awaitable<void> operator()(SharedExchange exchange) {
    auto socket = co_await exchange->upgrade(max_message);
    if (!socket) {
      Response refusal;
      refusal.status = 400;
      refusal.body = socket.error().message;
      co_await exchange->respond(std::move(refusal));
      co_return;
    }
    for (;;) {
      auto message = co_await (*socket)->read();
      if (message.kind == WsMessage::Kind::kClosed) {
        end.set_value(message);
        co_return;
      }
      if (message.kind == WsMessage::Kind::kTooLong) {
        auto sent = co_await (*socket)->send_text("refused: " + message.data);
        static_cast<void>(sent);
        co_await (*socket)->close(WebSocket::kTooLongCode, message.data);
        continue;
      }
      got.push_back(message.data);
      if (message.kind == WsMessage::Kind::kText) {
        auto sent = co_await (*socket)->send_text(message.data);
        static_cast<void>(sent);
      } else {
        auto sent = co_await (*socket)->send_binary(message.data);
        static_cast<void>(sent);
      }
    }
  }
};

struct WsFixture : ::testing::Test {
  EchoSocket echo;
  Handler handler = [this](SharedExchange exchange) { return echo(std::move(exchange)); };

  WsMessage end() {
    auto future = echo.end.get_future();
    if (future.wait_for(10s) != std::future_status::ready)
      throw std::runtime_error("the handler saw no end");
    return future.get();
  }
};

TEST_F(WsFixture, HandshakeAnswersTheSampleOfTheRfc) {
  TestServer server(handler);
  RawClient client(server.port());
  client.send(kUpgrade);
  const auto head = client.read_until("\r\n\r\n");
  EXPECT_TRUE(head.starts_with("HTTP/1.1 101 ")) << head;
  EXPECT_NE(head.find("Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo="), std::string::npos);
  EXPECT_EQ(head.find("deflate"), std::string::npos);
  EXPECT_NE(head.find("\r\nServer: cay\r\n"), std::string::npos) << head;
  EXPECT_EQ(head.find("Beast"), std::string::npos) << "what it is made with, and of which version";
}

// Reads one message, then nothing for a while, then to the end.
struct SlowSocket {
  Millis pause;
  std::promise<WsMessage> second;

  asio::awaitable<void> operator()(SharedExchange exchange) {
    auto socket = co_await exchange->upgrade(1 << 20);
    auto first = co_await (*socket)->read();
    co_await sleep_for(pause);
    auto got = co_await (*socket)->read();
    second.set_value(got);
  }
};

WsMessage second_message(Millis pause, const std::string& messages) {
  SlowSocket slow{pause, {}};
  auto future = slow.second.get_future();
  ListenerConfig config;
  config.socket_idle = 300ms;
  TestServer server([&slow](SharedExchange exchange) { return slow(std::move(exchange)); }, config);
  RawClient client(server.port());  // answers no ping
  client.send(kUpgrade);
  client.read_until("\r\n\r\n");
  client.send(messages);
  if (future.wait_for(20s) != std::future_status::ready)
    throw std::runtime_error("the handler saw no end");
  return future.get();
}

TEST(WsSilenceTest, OnlyAPeerThatIsReadCanBeSilent) {
  const auto one = frame(WsOpcode::kText, "one");
  EXPECT_EQ(second_message(1500ms, one + frame(WsOpcode::kText, "two")).data, "two");
  const auto silent = second_message(0ms, one);
  EXPECT_EQ(silent.kind, WsMessage::Kind::kClosed);
  EXPECT_EQ(silent.close_code, 1006);
}

TEST_F(WsFixture, FragmentsPingsAndBothKinds) {
  TestServer server(handler);
  RawClient client(server.port());
  client.send(kUpgrade);
  client.read_until("\r\n\r\n");
  client.send(fragment(WsOpcode::kText, "gr\xc3") + frame(WsOpcode::kPing, "p") +
              fragment(WsOpcode::kContinuation, "\xbc\xc3\x9f") +
              frame(WsOpcode::kContinuation, "e"));
  EXPECT_EQ(client.read_exactly(3), "\x8a\x01p");
  EXPECT_EQ(client.read_exactly(9),
            "\x81\x07gr\xc3\xbc\xc3\x9f"
            "e");
  const std::string big(70'000, '\0');
  client.send(frame(WsOpcode::kBinary, big));
  const auto head = client.read_exactly(10);
  EXPECT_EQ(head, std::string("\x82\x7f\0\0\0\0\0\x01\x11\x70", 10));
  EXPECT_EQ(client.read_exactly(70'000), big);
}

TEST_F(WsFixture, CloseCodesAreToldAsTheyCame) {
  for (const int code : {1000, 1011, 4321, 1005}) {
    echo.end = {};
    TestServer server(handler);
    RawClient client(server.port());
    client.send(kUpgrade);
    client.read_until("\r\n\r\n");
    client.send(frame(WsOpcode::kClose, code == 1005 ? "" : close_payload(code, "why")));
    const auto reply = client.read_to_end();
    EXPECT_EQ(reply.substr(0, 1), "\x88");
    client.close();
    const auto message = end();
    EXPECT_EQ(message.close_code, code);
    EXPECT_EQ(message.data, code == 1005 ? "" : "why");
  }
}

TEST_F(WsFixture, AFrameThatComesJustBeforeAResetIsDelivered) {
  for (int i = 0; i < 50; ++i) {
    echo.end = {};
    echo.got.clear();
    TestServer server(handler);
    RawClient client(server.port());
    client.send(kUpgrade);
    client.read_until("\r\n\r\n");
    client.send(frame(WsOpcode::kText, "kill"));
    client.drop();
    EXPECT_EQ(end().close_code, 1006);
    EXPECT_EQ(echo.got, std::vector<std::string>{"kill"});
  }
}

// The server streams, so its writes fail once the peer is gone; the frame must be read all the
// same.
TEST(WsTest, AKillIsReadWhileWritingFails) {
  std::promise<std::string> got;
  auto flood = [](WebSocket* socket) -> asio::awaitable<void> {
    for (;;) {
      auto sent = co_await socket->send_binary(std::string(4096, 'x'));
      if (!sent) co_return;
    }
  };
  auto handler = [&](SharedExchange exchange) -> asio::awaitable<void> {
    auto socket = co_await exchange->upgrade(1000);
    auto executor = co_await asio::this_coro::executor;
    Scope scope(executor);
    scope.spawn(flood(socket->get()));
    co_await sleep_for(Millis(20));  // the connection is reset meanwhile
    auto message = co_await (*socket)->read();
    got.set_value(message.data);
    co_await scope.join();
  };
  TestServer server(handler);
  RawClient client(server.port(), 4096);
  client.send(kUpgrade);
  client.read_until("\r\n\r\n");
  client.send(frame(WsOpcode::kText, "kill"));
  client.drop();
  auto future = got.get_future();
  ASSERT_EQ(future.wait_for(10s), std::future_status::ready);
  EXPECT_EQ(future.get(), "kill");
}

TEST_F(WsFixture, TooLongMessagesAreAnsweredInWordsAndClosedWith1009) {
  const std::string why = "the message is longer than 1048576 bytes";
  const auto want = encode_frame(WsRole::kServer, WsOpcode::kText, "refused: " + why) +
                    encode_frame(WsRole::kServer, WsOpcode::kClose, close_payload(1009, why));
  const auto much = [](std::size_t more) { return std::string((1 << 20) + more, 'x'); };
  // A byte too much, much too much, and in fragments.
  for (const auto& bytes :
       {frame(WsOpcode::kBinary, much(1)), frame(WsOpcode::kText, much(19 << 20)),
        fragment(WsOpcode::kText, much(0)) + frame(WsOpcode::kContinuation, "y")}) {
    echo.end = {};
    TestServer server(handler);
    RawClient client(server.port());
    client.send(kUpgrade);
    client.read_until("\r\n\r\n");
    EXPECT_TRUE(client.send(bytes)) << "it is read all the same: a reset would take the answer";
    EXPECT_EQ(client.read_exactly(want.size()), want);
    client.send(frame(WsOpcode::kClose, close_payload(1009, "")));
    EXPECT_EQ(client.read_to_end(), "");
    EXPECT_FALSE(client.was_reset());
    client.close();
    EXPECT_EQ(end().close_code, 1009);
    EXPECT_TRUE(echo.got.empty());
  }
}

TEST_F(WsFixture, TheRefusalComesWhileTheMessageIsStillSent) {
  TestServer server(handler);
  RawClient client(server.port());
  client.send(kUpgrade);
  client.read_until("\r\n\r\n");
  const auto bytes = frame(WsOpcode::kBinary, std::string(4 << 20, 'x'));
  client.send(std::string_view(bytes).substr(0, 2 << 20));
  const auto told = client.read_until("1048576 bytes").substr(2);
  EXPECT_EQ(told, "refused: the message is longer than 1048576 bytes");
  client.send(std::string_view(bytes).substr(2 << 20));
  EXPECT_EQ(client.read_until("bytes").substr(0, 4), "\x88\x2a\x03\xf1");
}

TEST_F(WsFixture, TheLongestMessageIsTaken) {
  TestServer server(handler);
  RawClient client(server.port());
  client.send(kUpgrade);
  client.read_until("\r\n\r\n");
  const std::string longest(1 << 20, 'x');
  client.send(fragment(WsOpcode::kText, longest.substr(1)) + frame(WsOpcode::kContinuation, "x"));
  EXPECT_EQ(client.read_exactly(10), std::string("\x81\x7f\0\0\0\0\0\x10\0\0", 10));
  EXPECT_EQ(client.read_exactly(longest.size()), longest);
}

TEST_F(WsFixture, BrokenFramesAreClosedWith1002Or1007) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {encode_frame(WsRole::kServer, WsOpcode::kText, "unmasked"), "\x03\xea"},
      {frame(WsOpcode::kContinuation, "nothing to continue"), "\x03\xea"},
      {fragment(WsOpcode::kText, "a") + frame(WsOpcode::kText, "b"), "\x03\xea"},
      {frame(static_cast<WsOpcode>(3), ""), "\x03\xea"},
      {frame(WsOpcode::kPing, std::string(126, 'p')), "\x03\xea"},
      {fragment(WsOpcode::kPing, "p"), "\x03\xea"},
      {frame(WsOpcode::kClose, "x"), "\x03\xea"},
      {frame(WsOpcode::kClose, close_payload(1006, "")), "\x03\xea"},
      {frame(WsOpcode::kText, "\xff"), "\x03\xef"},
  };
  for (const auto& [bytes, code] : cases) {
    echo.end = {};
    TestServer server(handler);
    RawClient client(server.port());
    client.send(kUpgrade);
    client.read_until("\r\n\r\n");
    client.send(bytes);
    const auto reply = client.read_to_end();
    ASSERT_GE(reply.size(), 4u);
    EXPECT_EQ(reply.substr(2, 2), code);
    client.close();
    end();
  }
}

TEST_F(WsFixture, ARefusedUpgradeIsAnOrdinaryAnswer) {
  TestServer server(handler);
  RawClient client(server.port());
  client.send(
      "GET /ws HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: "
      "websocket\r\nSec-WebSocket-Version: 8\r\n\r\n");
  EXPECT_TRUE(client.read_answer().starts_with("HTTP/1.1 400 "));
  client.send("GET /again HTTP/1.1\r\nHost: x\r\n\r\n");  // the connection lives on
  EXPECT_TRUE(client.read_answer().starts_with("HTTP/1.1 400 "));
}

// The handler has its socket, and reads.
void until_read(RawClient& client) {
  client.send(frame(WsOpcode::kPing, "?"));
  EXPECT_EQ(client.read_exactly(3), "\x8a\x01?");
}

TEST_F(WsFixture, ShutdownClosesWith1001) {
  TestServer server(handler);
  RawClient client(server.port());
  client.send(kUpgrade);
  client.read_until("\r\n\r\n");
  until_read(client);
  auto stopped =
      std::async(std::launch::async, [&] { server.thread().await(server.server().shutdown(10s)); });
  const auto close = client.read_exactly(4);
  EXPECT_EQ(close.substr(2), "\x03\xe9");
  const auto begun = std::chrono::steady_clock::now();
  client.send(frame(WsOpcode::kClose, close_payload(1001, "")));
  client.read_to_end();
  client.close();
  stopped.get();
  EXPECT_LT(std::chrono::steady_clock::now() - begun, 3s);
  EXPECT_EQ(end().close_code, 1001);
}

class WsPartingTest : public WsFixture {
 protected:
  WsPartingTest() {
    client.send(kUpgrade);
    client.read_until("\r\n\r\n");
    until_read(client);
  }
  // The daemon's close, before which `also` is sent by the client; its own is behind that.
  WsMessage part(const std::string& also) {
    auto stopped = std::async(std::launch::async,
                              [&] { server.thread().await(server.server().shutdown(10s)); });
    EXPECT_EQ(client.read_exactly(4).substr(2), "\x03\xe9");
    client.send(also + frame(WsOpcode::kClose, close_payload(1001, "")));
    EXPECT_EQ(client.read_to_end().find('\x88'), std::string::npos) << "it was said once";
    client.close();
    stopped.get();
    return end();
  }
  TestServer server{handler};
  RawClient client{server.port()};
};

TEST_F(WsPartingTest, WhatWasSentBeforeTheEndWasHeardIsRead) {
  client.send(frame(WsOpcode::kText, "first"));
  client.read_exactly(7);
  std::string more;
  for (int i = 0; i < 100; ++i)
    more += frame(WsOpcode::kBinary, std::string(10'000, static_cast<char>('a' + i % 26)));
  EXPECT_EQ(part(more).close_code, 1001);
  ASSERT_EQ(echo.got.size(), 101u);
  for (int i = 0; i < 100; ++i)
    EXPECT_EQ(echo.got.at(static_cast<std::size_t>(i) + 1),
              std::string(10'000, static_cast<char>('a' + i % 26)));
}

TEST_F(WsPartingTest, NobodyBeginsAnything) {
  EXPECT_EQ(part(frame(WsOpcode::kText, "first")).close_code, 1001);
  EXPECT_TRUE(echo.got.empty());
}

TEST(WsTest, ASlowReaderHoldsTheSenderBack) {
  std::atomic<std::size_t> sent_bytes = 0;
  constexpr std::size_t kTotal = 32u << 20;
  auto handler = [&](SharedExchange exchange) -> asio::awaitable<void> {
    auto socket = co_await exchange->upgrade(1000);
    const std::string piece(65536, 'x');
    while (sent_bytes < kTotal) {
      auto sent = co_await (*socket)->send_binary(piece);
      if (!sent) co_return;
      sent_bytes += piece.size();
    }
    co_await (*socket)->close(1000, "");
  };
  TestServer server(handler);
  RawClient client(server.port(), 65536);
  client.send(kUpgrade);
  client.read_until("\r\n\r\n");
  client.read_exactly(100'000);
  EXPECT_LT(sent_bytes.load(), 16u << 20);
  std::size_t got = 0;
  while (got < kTotal - (1 << 20)) got += client.read_some(1 << 20).size();
}

// Bytes in a pipe, as splice(2) leaves them there.
KernelPipe pipe_of(const std::string& bytes) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) != 0)
    throw std::runtime_error("socketpair");
  const UniqueFd near(ends[0]), far(ends[1]);
  auto pipe = KernelPipe::make();
  for (std::size_t at = 0; at < bytes.size();) {
    const ssize_t put = ::send(near.get(), bytes.data() + at,
                               std::min<std::size_t>(bytes.size() - at, 32 * 1024), 0);
    if (put <= 0) throw std::runtime_error("send");
    at += static_cast<std::size_t>(put);
    for (ssize_t moved = 0; moved < put;) {
      const ssize_t took = pipe->take(far.get(), static_cast<std::size_t>(put - moved));
      if (took <= 0) throw std::runtime_error("splice");
      moved += took;
    }
  }
  return *std::move(pipe);
}

std::string pattern(int number, std::size_t size) {
  std::string out(size, '\0');
  for (std::size_t i = 0; i < size; ++i)
    out[i] = static_cast<char>(number + static_cast<int>(i % 251));
  return out;
}

struct ServerFrame {
  unsigned char code = 0;  // 0: the connection ended before the frame was whole
  std::string payload;
};
ServerFrame next_frame(RawClient& client) {
  const auto number = [](const std::string& bytes) {
    std::size_t out = 0;
    for (const char byte : bytes) out = out << 8 | static_cast<unsigned char>(byte);
    return out;
  };
  const auto head = client.read_exactly(2);
  if (head.size() < 2) return {};
  std::size_t size = static_cast<unsigned char>(head[1]);
  if (size >= 126) size = number(client.read_exactly(size == 126 ? 2 : 8));
  auto payload = client.read_exactly(size);
  if (payload.size() < size) return {};
  return {static_cast<unsigned char>(head[0]), std::move(payload)};
}

// Sends `count` frames that stay in the kernel, of sizes that need each kind of head, while it
// answers pings.
struct PipedSender {
  int count = 0;
  std::size_t size = 0;
  std::atomic<int> sent = 0;
  std::promise<WsMessage> end;

  asio::awaitable<void> send_all(PipedSocket& socket) {
    for (int i = 0; i < count; ++i) {
      auto pipe = pipe_of(pattern(i, i % 3 == 0 ? size : i % 3 == 1 ? 1000 : 10));
      auto done = co_await socket.send_piped("head", std::move(pipe));
      if (!done) co_return;
      ++sent;
    }
  }
  asio::awaitable<void> operator()(SharedExchange exchange) {
    auto socket = co_await exchange->upgrade(1 << 20);
    auto* piped = dynamic_cast<PipedSocket*>(socket->get());
    if (piped == nullptr || !piped->can_splice()) throw std::runtime_error("not piped");
    auto executor = co_await asio::this_coro::executor;
    Scope sending(executor);
    sending.spawn(send_all(*piped));
    auto message = co_await (*socket)->read();  // one from the client breaks the sending off
    sending.cancel();
    co_await sending.join();
    co_await (*socket)->close(1000, "");
    end.set_value(message);
  }
};

TEST(WsPipedTest, FramesThatStayInTheKernelAreWholeAndPongsComeBetweenThem) {
  constexpr int kFrames = 60, kPings = 200;
  PipedSender sender{.count = kFrames, .size = 700'000, .sent = {}, .end = {}};
  auto ended = sender.end.get_future();
  TestServer server([&sender](SharedExchange exchange) { return sender(std::move(exchange)); });
  RawClient client(server.port(), 4096);
  client.send(kUpgrade);
  client.read_until("\r\n\r\n");
  int pongs = 0, frames = 0, pinged = 0;
  while (frames < kFrames || pongs < kPings) {
    for (int i = 0; i < 5 && pinged < kPings; ++i, ++pinged)
      ASSERT_TRUE(client.send(frame(WsOpcode::kPing, "ping")));
    const auto got = next_frame(client);
    if (got.code == 0x8a) {
      EXPECT_EQ(got.payload, "ping");
      ++pongs;
      continue;
    }
    ASSERT_EQ(got.code, 0x82);
    const std::size_t size = frames % 3 == 0 ? 700'000 : frames % 3 == 1 ? 1000 : 10;
    ASSERT_EQ(got.payload, "head" + pattern(frames, size)) << frames;
    ++frames;
  }
  client.send(frame(WsOpcode::kClose, close_payload(1000, "")));
  EXPECT_EQ(next_frame(client).code, 0x88);
  client.close();
  ASSERT_EQ(ended.wait_for(10s), std::future_status::ready);
  EXPECT_EQ(ended.get().close_code, 1000);
}

// True: a frame was broken off. False: what was sent ended between two of them (a busy server only
// looked as if it waited).
bool breaks_off_a_frame() {
  PipedSender sender{.count = 1000, .size = 700'000, .sent = {}, .end = {}};
  auto ended = sender.end.get_future();
  TestServer server([&sender](SharedExchange exchange) { return sender(std::move(exchange)); });
  RawClient client(server.port(), 4096);
  client.send(kUpgrade);
  client.read_until("\r\n\r\n");
  // Until the kernel takes no more, so that a frame is under way.
  for (int seen = -1; seen != sender.sent;) {
    seen = sender.sent;
    std::this_thread::sleep_for(100ms);
  }
  EXPECT_LT(sender.sent, 1000);
  client.send(frame(WsOpcode::kText, "enough"));
  EXPECT_EQ(ended.wait_for(10s), std::future_status::ready);
  EXPECT_EQ(ended.get().data, "enough");
  for (int i = 0;; ++i) {
    const auto got = next_frame(client);
    if (got.code == 0)
      return true;  // it ends within a frame: no close comes where a payload's bytes are due
    if (got.code == 0x88) return false;
    EXPECT_EQ(got.code, 0x82);
    if (got.payload == "head" + pattern(i, i % 3 == 0 ? 700'000 : i % 3 == 1 ? 1000 : 10)) continue;
    ADD_FAILURE() << "frame " << i << " is another";
    return true;
  }
}

TEST(WsPipedTest, AFrameThatIsBrokenOffIsTheLast) {
  int tries = 1;
  while (!breaks_off_a_frame() && tries < 20) ++tries;
  EXPECT_LT(tries, 20);
}

// Reads as a stream, and keeps the bytes and how it ended.
struct StreamReader {
  std::string got;
  std::promise<WsMessage> end;
  asio::awaitable<void> operator()(SharedExchange exchange) {
    auto socket = co_await exchange->upgrade(1 << 20);
    auto* piped = dynamic_cast<PipedSocket*>(socket->get());
    std::string buffer(1000, '\0');
    for (;;) {
      const auto size = co_await piped->read_some(buffer);
      if (!size) break;
      got.append(buffer, 0, *size);
    }
    auto last = co_await (*socket)->read();
    end.set_value(last);
  }
};

TEST(WsPipedTest, MessagesAreReadAsAStream) {
  StreamReader reader;
  auto ended = reader.end.get_future();
  TestServer server([&reader](SharedExchange exchange) { return reader(std::move(exchange)); });
  RawClient client(server.port());
  client.send(kUpgrade);
  client.read_until("\r\n\r\n");
  const auto big = pattern(7, 300'000);
  client.send(fragment(WsOpcode::kBinary, "one ") + frame(WsOpcode::kPing, "p") +
              frame(WsOpcode::kContinuation, "two ") + frame(WsOpcode::kBinary, "") +
              frame(WsOpcode::kBinary, big) + frame(WsOpcode::kClose, close_payload(4321, "why")));
  client.read_to_end();
  client.close();
  ASSERT_EQ(ended.wait_for(10s), std::future_status::ready);
  const auto last = ended.get();
  EXPECT_EQ(reader.got, "one two " + big);
  EXPECT_EQ(last.close_code, 4321);
  EXPECT_EQ(last.data, "why");
}

TEST_F(WsFixture, OurClientAndOurServerAgree) {
  TestServer server(handler);
  auto& thread = server.thread();
  ClientOptions options;
  options.url = "http://127.0.0.1:" + std::to_string(server.port());
  auto story = [&]() -> asio::awaitable<void> {
    auto client = Client::create(thread.loop().get_executor(), options);
    auto upgrade = co_await (*client)->websocket("/ws", Headers(), 1 << 20);
    EXPECT_TRUE(upgrade && upgrade->socket);
    if (!upgrade || !upgrade->socket) co_return;
    auto& socket = *upgrade->socket;
    for (std::size_t size : {0u, 1u, 125u, 126u, 65535u, 65536u, 1u << 20}) {
      auto sent = co_await socket.send_binary(std::string(size, 'b'));
      EXPECT_TRUE(sent);
      auto message = co_await socket.read();
      EXPECT_EQ(message.kind, WsMessage::Kind::kBinary);
      EXPECT_EQ(message.data.size(), size);
    }
    co_await socket.close(4000, "enough");
    auto last = co_await socket.read();
    EXPECT_EQ(last.close_code, 4000);
    auto late = co_await socket.send_text("late");
    EXPECT_FALSE(late);
  };
  thread.await(story());
  const auto message = end();
  EXPECT_EQ(message.close_code, 4000);
  EXPECT_EQ(message.data, "enough");
}

}  // namespace
}  // namespace cay::http
