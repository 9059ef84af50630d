#include "client/tunnel_stream.h"

#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>

#include "async/testing.h"
#include "client/testing/fake_http.h"

namespace cay::client {
namespace {

using testing::closed_frame;
using testing::FakeHttp;
using testing::text_frame;

http::WsMessage bytes_frame(std::string bytes) {
  return {http::WsMessage::Kind::kBinary, std::move(bytes), 0};
}

class TunnelStreamTest : public ::testing::Test {
 protected:
  TunnelStreamTest() {
    sdk::ClientOptions options;
    options.api_key = "k";
    connection =
        std::make_unique<Connection>(loop.get_executor(), options, std::make_unique<FakeHttp>(log));
  }
  ~TunnelStreamTest() override {
    stream.reset();
    loop.restart();
    loop.poll();
  }
  void open(std::vector<http::WsMessage> script) {
    log->sockets.emplace_back(std::move(script));
    auto got = run(TunnelStream::open(*connection, "box", 80));
    ASSERT_TRUE(got) << got.error().message;
    stream = *std::move(got);
  }
  template <class T>
  Result<T> run(Task<T> task) {
    return cay::testing::run(loop, std::move(task));
  }

  asio::io_context loop;
  std::shared_ptr<FakeHttp::Log> log = std::make_shared<FakeHttp::Log>();
  std::unique_ptr<Connection> connection;
  std::unique_ptr<TunnelStream> stream;
};

TEST_F(TunnelStreamTest, ReadsToTheEnd) {
  open({bytes_frame("ab"), bytes_frame("c"), text_frame(R"({"type":"eof"})"), closed_frame(1000)});
  EXPECT_EQ(*run(stream->read()), "ab");
  EXPECT_EQ(*run(stream->read()), "c");
  EXPECT_EQ(*run(stream->read()), "");
  EXPECT_EQ(*run(stream->read()), "");
}

TEST_F(TunnelStreamTest, TheEndIsToldInWords) {
  open({bytes_frame("ab"), closed_frame(1008)});
  EXPECT_EQ(*run(stream->read()), "ab");
  const auto ended = run(stream->read());
  ASSERT_FALSE(ended);
  EXPECT_EQ(ended.error().reason, "connection_ended");
  const std::string& told = ended.error().message;
  EXPECT_NE(told.find("look at the API key"), std::string::npos) << told;
}

TEST_F(TunnelStreamTest, WhatCameBeforeABreakIsGiven) {
  open({bytes_frame("last words"),
        text_frame(R"({"type":"error","error":{"code":"cancelled","reason":"connection_reset",)"
                   R"("message":"broke"}})"),
        closed_frame(1000)});
  EXPECT_EQ(*run(stream->read()), "last words");
  EXPECT_EQ(run(stream->read()).error().reason, "connection_reset");
  EXPECT_EQ(run(stream->write("x")).error().reason, "connection_reset");
}

TEST_F(TunnelStreamTest, ASocketThatClosesTooEarlyIsNoEnd) {
  open({bytes_frame("half"), closed_frame(1001)});
  EXPECT_EQ(*run(stream->read()), "half");
  EXPECT_EQ(run(stream->read()).error().reason, "connection_lost");
}

TEST_F(TunnelStreamTest, CreditIsGivenAndTaken) {
  const std::string piece(64 * 1024, 'x');
  open({bytes_frame(piece), bytes_frame("y"), text_frame(R"({"type":"credit","bytes":10})"),
        closed_frame(1000)});
  EXPECT_EQ(run(stream->read())->size(), piece.size());
  EXPECT_EQ(*run(stream->read()), "y");
  EXPECT_EQ(log->frames.at(0), R"({"type":"credit","bytes":65536})");
}

TEST_F(TunnelStreamTest, ARefusalIsTyped) {
  log->sockets.emplace_back(Error{Code::kNotReady, "connect_refused", "nothing listens", 0});
  EXPECT_EQ(run(TunnelStream::open(*connection, "box", 80)).error().reason, "connect_refused");
}

}  // namespace
}  // namespace cay::client
