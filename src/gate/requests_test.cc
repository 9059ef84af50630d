#include "gate/requests.h"

#include <gtest/gtest.h>

#include <vector>

namespace cay::gate {
namespace {

using Is = Requests::Is;

const std::string kFirst = "GET / HTTP/1.1\r\nHost: a.test\r\n\r\n";
const std::string kPost = "POST / HTTP/1.1\r\nHost: a.test\r\n";

struct Told {
  std::vector<std::string> hosts;
  std::string passed;
  bool over = false;
  bool refused = false;
  bool names_nobody = false;
};

// As many bytes at a time.
Told told(std::string_view bytes, std::size_t step) {
  Told out;
  Requests requests;
  for (std::size_t at = 0; at < bytes.size(); at += step) {
    requests.add(bytes.substr(at, step));
    for (auto part = requests.next(); part.is != Is::kMore; part = requests.next()) {
      if (part.is == Is::kRequest) out.hosts.push_back(part.host);
      out.passed += part.bytes;
      out.over = part.is == Is::kOver;
      out.refused = part.is == Is::kRefused;
      out.names_nobody = part.names_nobody;
      if (out.refused) return out;
      if (out.over) break;
    }
  }
  return out;
}

void expect_hosts(const std::string& bytes, const std::vector<std::string>& hosts) {
  for (const std::size_t step : {bytes.size(), std::size_t{7}, std::size_t{1}}) {
    const Told got = told(bytes, step);
    EXPECT_EQ(got.hosts, hosts) << bytes;
    EXPECT_FALSE(got.refused || got.over) << bytes;
    EXPECT_EQ(got.passed, bytes);
  }
}

// Returns what goes on of one request and of the bytes behind it.
void expect_last(const std::string& head, const std::string& body, const std::string& goes_on) {
  const std::string all = head + body + kFirst;
  for (const std::size_t step : {all.size(), std::size_t{7}, std::size_t{1}}) {
    const Told got = told(all, step);
    EXPECT_EQ(got.hosts, std::vector<std::string>{"a.test"}) << all;
    EXPECT_TRUE(got.over) << all;
    EXPECT_EQ(got.passed, goes_on + body);
  }
}

// After the first request, which goes on as it came, or as `as`.
void expect_refused(const std::string& first, const std::string& rest,
                    const std::string& goes_on = "", const std::string& as = "") {
  for (const std::size_t step : {first.size() + rest.size(), std::size_t{7}, std::size_t{1}}) {
    const Told got = told(first + rest, step);
    EXPECT_TRUE(got.refused) << rest;
    EXPECT_EQ(got.passed, (as.empty() ? first : as) + goes_on) << rest;
  }
}

TEST(RequestsTest, EachRequestIsSeen) {
  expect_hosts(kFirst + kFirst + "GET /x HTTP/1.1\r\nhost: B.test:80\r\n\r\n",
               {"a.test", "a.test", "b.test"});
  expect_hosts(kPost + "Content-Length: 0\r\n\r\n" + kFirst, {"a.test", "a.test"});
}

TEST(RequestsTest, OneWithABodyIsTheLastOfItsConnection) {
  const std::string kClose = "Connection: close\r\n\r\n";
  const std::string chunked = kPost + "Transfer-Encoding: Chunked\r\n",
                    counted = kPost + "Content-Length: 3\r\n";
  expect_last(chunked + "\r\n", "0a\r\n0123456789\r\n1\r\nx\r\n000\r\n\r\n", chunked + kClose);
  expect_last(chunked + "\r\n", "0\r\n\r\n", chunked + kClose);
  expect_last(counted + "\r\n", "abc", counted + kClose);
  const std::string other = "GET / HTTP/1.1\r\nHost: b.test\r\n\r\n",
                    length = "Content-Length: " + std::to_string(other.size()) + "\r\n";
  expect_last(kPost + length + "\r\n", other, kPost + length + kClose);
  const std::string http_1_0 = "POST / HTTP/1.0\r\nHost: a.test\r\nContent-Length: 3\r\n";
  expect_last(http_1_0 + "Connection: Keep-Alive\r\n\r\n", "abc", http_1_0 + kClose);
}

TEST(RequestsTest, WhatTheGuestSaysOfTheConnectionOfALastOneIsNotPassedOn) {
  for (const char* method : {"POST", "PUT", "DELETE", "OPTIONS", "PROPFIND"}) {
    const std::string line = std::string(method) + " /x?y HTTP/1.1\r\n",
                      kept =
                          "X-A:  b:c \r\nhost: a.test\r\nConnection-X: y\r\nX-B:\r\nExpect: "
                          "100-continue\r\ncontent-length:3\r\n";
    expect_last(line + "conNection: keep-alive, X-A\r\n" + kept +
                    "Keep-Alive: timeout=9\r\nproxy-connection: x\r\nUpgrade: "
                    "h2c\r\nHTTP2-Settings: AA\r\nCONNECTION: Upgrade\r\n\r\n",
                "abc", line + kept + "Connection: close\r\n\r\n");
  }
  EXPECT_FALSE(framing_of(kPost + "Upgrade: h2c\r\nContent-Length: 3\r\n\r\n")->may_switch);
}

TEST(RequestsTest, WhatCanBeFramedInTwoWaysIsRefused) {
  for (const char* fields :
       {"Content-Length: 3\r\nTransfer-Encoding: chunked\r\n",
        "Content-Length: 3\r\nContent-Length: 3\r\n", "Content-Length: 3, 3\r\n",
        "Content-Length: +3\r\n", "Content-Length: 0x3\r\n", "Content-Length: \r\n",
        "Content-Length: 9999999999999999999\r\n", "Transfer-Encoding: gzip, chunked\r\n",
        "Transfer-Encoding: identity\r\n",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
        "Transfer-Encoding: \x0b"
        "chunked\r\n",
        "Content-Length : 3\r\n", "X: y\nContent-Length: 3\r\n",
        "X: y\r\n Content-Length: 3\r\n"}) {
    expect_refused(kFirst, kPost + fields + "\r\nabc");
  }
  expect_refused(kFirst,
                 "POST / HTTP/1.0\r\nHost: a.test\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n");
  for (const char* method : {"GET", "HEAD", "TRACE"})
    expect_refused(kFirst, std::string(method) +
                               " / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 3\r\n\r\nabc");
  expect_refused(kFirst, "\r\n" + kFirst);
}

TEST(RequestsTest, OddChunksAreRefused) {
  const std::string fields = kPost + "Transfer-Encoding: chunked\r\n", head = fields + "\r\n",
                    last = fields + "Connection: close\r\n\r\n";
  for (const char* chunks : {"\r\n", "3;x=y\r\nabc", "3 \r\nabc", "3\nabc", "0x3\r\nabc",
                             "-3\r\nabc", "g\r\n", "000000003\r\nabc"})
    expect_refused(head, chunks, "", last);
  expect_refused(head, "3\r\nabcd\r\n", "3\r\nabc", last);
  expect_refused(head, "0\r\nHost: b.test\r\n\r\n", "0\r\n", last);
}

TEST(RequestsTest, ManySmallChunksAreOnePart) {
  const std::string head = kPost + "Transfer-Encoding: chunked\r\n\r\n";
  std::string chunks;
  for (int i = 0; i < 1000; ++i) chunks += "1\r\nx\r\n";
  Requests requests;
  requests.add(head + chunks);
  EXPECT_EQ(requests.next().is, Requests::Is::kRequest);
  EXPECT_EQ(requests.next().bytes, chunks);
  EXPECT_EQ(requests.next().is, Requests::Is::kMore);
  requests.add("2\r\nx");
  EXPECT_EQ(requests.next().bytes, "2\r\nx");
  requests.add("y\r\n0\r\n\r\nbehind");
  EXPECT_EQ(requests.next().bytes, "y\r\n0\r\n\r\n");
  EXPECT_EQ(requests.next().is, Requests::Is::kOver);
  EXPECT_EQ(requests.take_rest(), "behind");
}

TEST(RequestsTest, ARequestWithoutAHostIsTold) {
  EXPECT_TRUE(told(kFirst + "GET / HTTP/1.0\r\n\r\n", 1).names_nobody);
  EXPECT_FALSE(told(kFirst + "SSH-2.0-x\r\n", 1).names_nobody);
}

TEST(RequestsTest, HeadsAreBoundedHoweverTheyCome) {
  const std::string fine =
      "GET / HTTP/1.1\r\nHost: a.test\r\nX: " + std::string(kMostFirstBytes - 200, 'x') +
      "\r\n\r\n";
  expect_hosts(fine + fine, {"a.test", "a.test"});
  expect_refused(kFirst, "GET / HTTP/1.1\r\nHost: a.test\r\nX: " +
                             std::string(kMostFirstBytes, 'x') + "\r\n\r\n");
}

TEST(RequestsTest, OnesThatAskForAnotherProtocolAreTold) {
  Requests requests;
  requests.add("GET / HTTP/1.1\r\nHost: a.test\r\nuPgrade: websocket\r\n\r\n\x81\x80");
  const auto part = requests.next();
  EXPECT_TRUE(part.may_switch);
  EXPECT_TRUE(requests.is_between());
  EXPECT_EQ(requests.take_rest(), "\x81\x80");
  requests.add(kFirst);
  EXPECT_FALSE(requests.next().may_switch);
}

TEST(RequestsTest, NoProtocolButAWebSocketIsAskedFor) {
  const std::string line = "GET / HTTP/1.1\r\n", host = "Host: a.test\r\n";
  for (const char* upgrade :
       {"Upgrade: h2c\r\n", "Upgrade: h2c, websocket\r\n", "Upgrade: websocket, h2c\r\n",
        "Upgrade: websocket\r\nUpgrade: h2c\r\n", "Upgrade: h2c\r\nupgrade: websocket\r\n",
        "Upgrade: websocket\r\nUpgrade: websocket\r\n", "Upgrade:\r\n", "UPGRADE: TLS/1.0\r\n"}) {
    Requests requests;
    requests.add(
        line + upgrade + host +
        "Connection: Upgrade, HTTP2-Settings\r\nHTTP2-Settings: AAMAAABk\r\nX-A: b\r\n\r\n");
    const auto part = requests.next();
    EXPECT_FALSE(part.may_switch) << upgrade;
    EXPECT_EQ(part.bytes, line + host + "X-A: b\r\n\r\n");
  }
  Requests requests;
  requests.add(line + host + "Connection: Upgrade , Close\r\nUpgrade: h2c\r\n\r\n");
  EXPECT_EQ(requests.next().bytes, line + host + "Connection: close\r\n\r\n")
      << "that it ends is still said";
}

}  // namespace
}  // namespace cay::gate
