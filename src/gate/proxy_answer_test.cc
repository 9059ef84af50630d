#include "gate/proxy_answer.h"

#include <gtest/gtest.h>

#include <string>
#include <tuple>

namespace cay::gate {
namespace {

constexpr const char* kAYes =
    "HTTP/1.1 200 Connection established\r\nContent-Length: 7\r\nX-A: b\r\n\r\n";

TEST(ProxyAnswerTest, WhatIsBehindAYesIsLeftWhateverItsHeadSaysOfABody) {
  for (const std::string head :
       {kAYes, "HTTP/1.0 200 OK\r\n\r\n", "HTTP/1.1 204 a\r\nTransfer-Encoding: chunked\r\n\r\n"}) {
    ProxyAnswer answer;
    std::string in = head + "220 hello";
    EXPECT_EQ(answer.read(in), ProxyAnswer::State::kYes) << head;
    EXPECT_EQ(in, "220 hello");
  }
}

TEST(ProxyAnswerTest, ItMayComeByteByByte) {
  ProxyAnswer answer;
  std::string in;
  const std::string all = std::string("HTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\n") + kAYes;
  for (std::size_t at = 0; at + 1 < all.size(); ++at) {
    in += all[at];
    ASSERT_EQ(answer.read(in), ProxyAnswer::State::kMore) << at;
  }
  in += all.back();
  EXPECT_EQ(answer.read(in), ProxyAnswer::State::kYes);
  EXPECT_EQ(answer.status(), 200U);
  EXPECT_TRUE(in.empty());
}

TEST(ProxyAnswerTest, ANoIsOneWhateverIsLeftOfIt) {
  for (const auto& [text, status] :
       {std::tuple("HTTP/1.1 407 a\r\nContent-Length: 3\r\n\r\nabc", 407U),
        {"HTTP/1.1 302 a\r\nLocation: /\r\n\r\n", 302U},
        {"HTTP/1.1 101 a\r\nUpgrade: b\r\n\r\n", 101U},
        {"HTTP/1.1 100 a\r\n\r\nHTTP/1.1 503 b\r\n\r\n", 503U}}) {
    ProxyAnswer answer;
    std::string in = text;
    EXPECT_EQ(answer.read(in), ProxyAnswer::State::kNo) << text;
    EXPECT_EQ(answer.status(), status);
  }
}

TEST(ProxyAnswerTest, WhatIsNoHttpAndWhatDoesNotEndIsRefused) {
  std::string endless = "HTTP/1.1 200 OK\r\n", interim;
  while (endless.size() <= ProxyAnswer::kMostHead) endless += "X: y\r\n";
  while (interim.size() <= ProxyAnswer::kMostHead) interim += "HTTP/1.1 100 Continue\r\n\r\n";
  for (const std::string& text : {std::string("SSH-2.0-OpenSSH\r\n"), endless, interim,
                                  std::string(ProxyAnswer::kMostHead + 1, '\n')}) {
    ProxyAnswer answer;
    std::string in = text;
    EXPECT_EQ(answer.read(in), ProxyAnswer::State::kNotHttp) << text.substr(0, 20);
  }
}

}  // namespace
}  // namespace cay::gate
