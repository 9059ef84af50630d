#include "http/upstream.h"

#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <deque>

#include "async/testing.h"

namespace cay::http {
namespace {

// The pieces that a service sends, and the bytes that it received.
struct Script {
  std::deque<std::string> says;
  std::string heard;
  int pieces = 0;  // in which it was heard
};

class Scripted : public ByteStream {
 public:
  explicit Scripted(std::shared_ptr<Script> script) : script_(std::move(script)) {}
  Task<Bytes> read() override {
    if (script_->says.empty()) co_return Bytes();
    Bytes piece = script_->says.front();
    script_->says.pop_front();
    co_return piece;
  }
  Task<void> write(Bytes bytes) override {
    script_->heard += bytes;
    ++script_->pieces;
    co_return Result<void>();
  }
  Task<void> shut_write() override { co_return Result<void>(); }

 private:
  std::shared_ptr<Script> script_;
};

class UpstreamTest : public ::testing::Test {
 protected:
  UpstreamTest() = default;
  void ask(UpstreamRequest request) {
    if (request.method.empty()) request.method = "GET";
    if (request.target.empty()) request.target = "/";
    ASSERT_TRUE(cay::testing::run(loop, upstream.send_head(std::move(request))));
  }
  Result<UpstreamAnswer> answer(std::vector<std::string> pieces, UpstreamRequest request = {}) {
    for (auto& piece : pieces) script->says.push_back(std::move(piece));
    ask(std::move(request));
    return cay::testing::run(loop, upstream.read_head());
  }
  // The whole body, or why it broke off.
  std::string body() {
    std::string all;
    for (;;) {
      auto piece = cay::testing::run(loop, upstream.next());
      if (!piece) return all + "!" + piece.error().reason;
      if (piece->empty()) return all;
      all += *piece;
    }
  }
  std::string refusal(const std::string& text) {
    script->says.clear();
    Scripted service(script);
    Upstream fresh(service);
    script->says.push_back(text);
    UpstreamRequest request;
    request.method = "GET";
    request.target = "/";
    EXPECT_TRUE(cay::testing::run(loop, fresh.send_head(std::move(request))));
    auto got = cay::testing::run(loop, fresh.read_head());
    return got ? "" : got.error().reason;
  }

  asio::io_context loop;
  std::shared_ptr<Script> script = std::make_shared<Script>();
  Scripted stream{script};
  Upstream upstream{stream};
};

TEST_F(UpstreamTest, TheRequestIsFramedByUs) {
  UpstreamRequest request;
  request.method = "POST";
  request.target = "/a?b=%2f";
  request.headers.add("Host", "x");
  request.headers.add("A", "1");
  request.chunked = true;
  ask(std::move(request));
  EXPECT_EQ(script->heard,
            "POST /a?b=%2f HTTP/1.1\r\nHost: x\r\nA: 1\r\nConnection: close\r\nTransfer-Encoding: "
            "chunked\r\n\r\n");
  script->heard.clear();
  EXPECT_TRUE(cay::testing::run(loop, upstream.send("hello")));
  EXPECT_TRUE(cay::testing::run(loop, upstream.send("")));
  EXPECT_EQ(script->heard, "5\r\nhello\r\n0\r\n\r\n");
}

TEST_F(UpstreamTest, WhatIsThereOfABodyGoesInOnePieceWithTheHead) {
  const auto asked = [this](bool chunked, std::optional<std::uint64_t> length, Bytes body,
                            bool whole) {
    const auto before = script->pieces;
    script->heard.clear();
    Scripted service(script);
    Upstream fresh(service);
    UpstreamRequest request;
    request.method = "POST";
    request.target = "/";
    request.chunked = chunked;
    request.length = length;
    const auto sent =
        cay::testing::run(loop, fresh.send_head(std::move(request), std::move(body), whole));
    EXPECT_EQ(script->pieces, before + (sent ? 1 : 0));
    return sent ? script->heard.substr(script->heard.find("\r\n\r\n") + 4) : sent.error().reason;
  };
  EXPECT_EQ(asked(true, {}, "hello", true), "5\r\nhello\r\n0\r\n\r\n");
  EXPECT_EQ(asked(true, {}, "hello", false), "5\r\nhello\r\n");
  EXPECT_EQ(asked(true, {}, "", true), "0\r\n\r\n");
  EXPECT_EQ(asked(false, 8, "hello", false), "hello");
  EXPECT_EQ(asked(false, 5, "hello", true), "hello");
  EXPECT_EQ(asked(false, {}, "", true), "");
  EXPECT_EQ(asked(false, 4, "hello", true), "internal") << "more than it has said";
}

TEST_F(UpstreamTest, BodiesOfEachFraming) {
  ASSERT_TRUE(answer({"HTTP/1.1 200 OK\r\nContent-", "Length: 5\r\n\r\nhe", "llo", "more"}));
  EXPECT_EQ(body(), "hello");
}
TEST_F(UpstreamTest, AChunkedBodyInOddPieces) {
  const auto got = answer({"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5", "\r\nhel",
                           "lo\r\n3;x=y\r\nabc\r\n0\r", "\nT: v\r\n\r\n"});
  ASSERT_TRUE(got);
  EXPECT_FALSE(got->length);
  EXPECT_EQ(body(), "helloabc");
}
TEST_F(UpstreamTest, ABodyUntilTheEnd) {
  ASSERT_TRUE(answer({"HTTP/1.0 200 OK\r\n\r\nuntil ", "the end"}));
  EXPECT_EQ(body(), "until the end");
}
TEST_F(UpstreamTest, OneThatBreaksOffIsNoShortBody) {
  ASSERT_TRUE(answer({"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhe"}));
  EXPECT_EQ(body(), "he!connection_lost");
}
TEST_F(UpstreamTest, AChunkedOneToo) {
  ASSERT_TRUE(answer({"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n"}));
  EXPECT_EQ(body(), "hello!connection_lost");
}
TEST_F(UpstreamTest, MalformedChunksAreTold) {
  ASSERT_TRUE(answer({"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello!!zz\r\n"}));
  EXPECT_TRUE(body().ends_with("!bad_answer"));
}
TEST_F(UpstreamTest, AHeadAloneHasItsLengthAndNoBody) {
  UpstreamRequest request;
  request.method = "HEAD";
  const auto got = answer({"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n"}, std::move(request));
  ASSERT_TRUE(got);
  EXPECT_EQ(got->length, 1000U);
  EXPECT_EQ(body(), "");
}
TEST_F(UpstreamTest, InterimAnswersArePassedOver) {
  const auto got =
      answer({"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 "
              "204 No Content\r\n\r\n"});
  ASSERT_TRUE(got);
  EXPECT_EQ(got->status, 204);
}
TEST_F(UpstreamTest, AnUpgradeKeepsWhatCameWithIt) {
  UpstreamRequest request;
  request.websocket = true;
  const auto got = answer({"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\nfirst"},
                          std::move(request));
  ASSERT_TRUE(got);
  EXPECT_NE(script->heard.find("Connection: Upgrade\r\nUpgrade: websocket\r\n"), std::string::npos)
      << script->heard;
  const auto after = upstream.take_stream();
  EXPECT_EQ(*cay::testing::run(loop, after->read()), "first");
}

TEST_F(UpstreamTest, WhatIsHereIsGivenWithoutWaiting) {
  ASSERT_TRUE(answer({"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhe", "llo"}));
  EXPECT_EQ(upstream.come(), "he");
  EXPECT_EQ(upstream.come(), std::nullopt);
  EXPECT_EQ(body(), "llo");
  EXPECT_EQ(upstream.come(), "");
}
TEST_F(UpstreamTest, OfChunksToo) {
  ASSERT_TRUE(answer({"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n3\r",
                      "\nllo\r\n0\r\n\r\n"}));
  EXPECT_EQ(upstream.come(), "he");
  EXPECT_EQ(upstream.come(), std::nullopt);
  EXPECT_EQ(body(), "llo");
}

TEST_F(UpstreamTest, AConnectionIsAskedAgainOnlyAfterAnAnswerThatToldItsEnd) {
  std::optional<std::uint64_t> length;
  bool chunked = false, websocket = false;
  const auto again = [&](const std::string& text, bool keep = true) {
    script->says = {text};
    script->heard.clear();
    Scripted service(script);
    Upstream fresh(service);
    UpstreamRequest request{.method = "POST",
                            .target = "/",
                            .headers = {},
                            .length = length,
                            .chunked = chunked,
                            .websocket = websocket,
                            .keep = keep};
    EXPECT_TRUE(cay::testing::run(loop, fresh.send_head(std::move(request))));
    EXPECT_TRUE(fresh.is_unanswered());
    EXPECT_TRUE(cay::testing::run(loop, fresh.read_head()));
    EXPECT_FALSE(fresh.is_unanswered());
    for (auto piece = cay::testing::run(loop, fresh.next()); piece && !piece->empty();)
      piece = cay::testing::run(loop, fresh.next());
    return fresh.can_ask_again();
  };
  EXPECT_TRUE(again("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"));
  EXPECT_TRUE(again("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n"));
  EXPECT_FALSE(again("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", false))
      << "it was told that we close";
  for (const char* text :
       {"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok",
        "HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok", "HTTP/1.1 200 OK\r\n\r\nok",
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok!", "HTTP/1.1 204 No Content\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\no",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nx"}) {
    EXPECT_FALSE(again(text)) << text;
  }
  const std::string fine = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
                    told = "\r\nConnection: close\r\n";
  length = 0;
  EXPECT_TRUE(again(fine));
  EXPECT_EQ(script->heard.find(told), std::string::npos);
  length = 1;
  EXPECT_FALSE(again(fine)) << "a body may be left, and be its next request";
  EXPECT_NE(script->heard.find(told), std::string::npos);
  length.reset();
  chunked = true;
  EXPECT_FALSE(again(fine));
  EXPECT_NE(script->heard.find(told), std::string::npos);
  chunked = false;
  websocket = true;
  EXPECT_FALSE(again(fine))
      << "whoever behind it takes it for another protocol's reads on otherwise";
}

TEST_F(UpstreamTest, HeadersAreBoundedInNumber) {
  std::string most = "HTTP/1.1 200 OK\r\n";
  for (int i = 0; i < 256; ++i) most += "A:\r\n";
  EXPECT_EQ(refusal(most + "\r\n"), "");
  EXPECT_EQ(refusal(most + "A:\r\n\r\n"), "bad_answer");
}

TEST_F(UpstreamTest, ShapesThatTwoParsersReadDifferentlyAreRefused) {
  for (const char* text :
       {"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n", "SSH-2.0-OpenSSH\r\n",
        "HTTP/1.1 2000 OK\r\n\r\n", "HTTP/1.1 099 X\r\n\r\n",
        "HTTP/1.1 200 OK\r\na b: c\r\n\r\n"}) {
    EXPECT_EQ(refusal(text), "bad_answer") << text;
  }
  EXPECT_EQ(refusal("HTTP/1.1 200 OK\r\nA: " + std::string(70'000, 'a') + "\r\n\r\n"),
            "bad_answer");
  EXPECT_EQ(refusal("HTTP/1.1 200"), "connection_lost");
  EXPECT_EQ(refusal(""), "connection_lost");
  EXPECT_EQ(refusal("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n"), "") << "the control";
}

}  // namespace
}  // namespace cay::http
