#include "gate/told_apart.h"

#include <gtest/gtest.h>

#include <string>

namespace cay::gate {
namespace {

using namespace std::string_literals;

TEST(ToldApartTest, TlsShowsAServerName) {
  EXPECT_EQ(told_apart("\x16"), std::nullopt);
  EXPECT_EQ(told_apart("\x16\x03"), Proof::kTls);
  for (const auto& odd : {"\x15\x03\x01"s, "\x16\x02\x01"s, "\x16\0"s, "\x14\x03"s, "\x18\x0f"s}) EXPECT_EQ(told_apart(odd), Proof::kTls) << "some server reads on behind it";
  EXPECT_EQ(told_apart("\x16\x10"), Proof::kNone);
  EXPECT_EQ(told_apart("\x16\xff"), Proof::kNone);
  EXPECT_EQ(told_apart("\x16", true), Proof::kNone);
}

TEST(ToldApartTest, WhateverAServerCouldTakeForARequestIsOne) {
  for (const auto& request : {"GET / HTTP/1.1\r\n"s, "GET / HTTP/1.0\n"s, "get / http/1.1\r\n"s, "ODD-1 /\tHTTP/1.1\n"s, " \tGET  / HTTP/1.1 \r\n"s, "GET http://a.test/ HTTP/1.1\r\n"s,
                              "CONNECT a.test:1 HTTP/1.1\r\n"s, "GET http://a.test/x\r\n"s, "GET /x\r\n"s, "get\t /x\n"s, "OPTIONS *\r\n"s, "ANNOUNCE * RTSP/1.0\r\n"s, "SETUP *\r\n"s, "SOURCE * ICE/1.0\r\n"s, "SOURCE x ice/1.0\n"s, "GET *\r\n"s, "GET x\r\n"s, "GET rtsp://a RTSP/1.0\r\n"s,
                              "PROXY TCP4 1.2.3.4 5.6.7.8 1 2\r\n"s, "GET /\x80\x01 HTTP/1.1\r\n"s, "GET /\rHTTP/1.1\r\n"s, std::string(5'000, 'A') + " / HTTP/1.1\r\n",
                              "GET\r/\rHTTP/1.1\r\n"s, "GET\v/\fHTTP/1.1\n"s, "\x1cGET\x1d/\x1f HTTP/1.1\r\n"s, "GET\x85/\xa0HTTP/1.1\r\n"s, "GET /\0 HTTP/1.1\r\n"s, "GET /\0x\n"s, " \v\r\n"s,
                              "PRI * HTTP/2.0\r\n"s, "0032git-x / HTTP/1.1\r\n"s}) {
    EXPECT_EQ(told_apart(request), Proof::kHttp) << request.substr(0, 40);
    for (std::size_t size = 0; size + 1 < request.size(); ++size) EXPECT_EQ(told_apart(std::string_view(request).substr(0, size)), std::nullopt) << request.substr(0, size);
  }
  EXPECT_EQ(told_apart("GET /x", true), Proof::kHttp) << "some servers take a line that ends with the connection";
  EXPECT_EQ(told_apart(std::string(kMostFirstBytes, 'A')), Proof::kHttp) << "it is refused then: some servers take a longer one";
}

TEST(ToldApartTest, OtherProtocolsAreKeptWaitingForNothing) {
  for (const auto& said : {"\0\0\0\x08\x04\xd2\x16\x2f"s, "SSH-2.0-OpenSSH_9.2p1 Debian-2\r\n"s, "*1\r\n$4\r\nPING\r\n"s, "EHLO a.test\r\n"s, "get a\r\n"s, "GET\r\n"s, "AMQP\0\0\x09\x01"s, "0032git-upload-pack /a.git\0"s,
                           "{\"id\":"s, "INVITE sip:a@b SIP/2.0\r\n"s, "KEYS *\r\n"s, "SET a\0/\r\n"s, "GET\0 / HTTP/1.1\r\n"s, "\x30\x0c\x02"s, "\x80\x2e\x01"s, "PING\r\n"s, "a\xff"s}) {
    EXPECT_EQ(told_apart(said), Proof::kNone) << said;
  }
  EXPECT_EQ(told_apart("PING"), std::nullopt);
  EXPECT_EQ(told_apart("PING", true), Proof::kNone);
}

}  // namespace
}  // namespace cay::gate
