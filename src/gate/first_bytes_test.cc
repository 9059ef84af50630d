#include "gate/first_bytes.h"

#include <gtest/gtest.h>

namespace cay::gate {
namespace {

using State = Shown::State;

std::string u16(std::size_t value) {
  return {static_cast<char>(value >> 8), static_cast<char>(value & 0xff)};
}

std::string server_name(const std::string& host) {
  const std::string entry = std::string(1, '\0') + u16(host.size()) + host;
  const std::string list = u16(entry.size()) + entry;
  return u16(0) + u16(list.size()) + list;
}

std::string hello(const std::string& extensions) {
  const std::string body = "\x03\x03" + std::string(32, 'r') + std::string(1, '\0') + u16(2) +
                           "\x13\x01" + std::string("\x01\x00", 2) + u16(extensions.size()) +
                           extensions;
  const std::string message = std::string("\x01\x00", 2) + u16(body.size()) + body;
  return "\x16\x03\x01" + u16(message.size()) + message;
}

const std::string kOther = u16(43) + u16(3) + "\x02\x03\x04";

TEST(ClientHelloTest, NamesItsServer) {
  const Shown got = read_client_hello(hello(kOther + server_name("Files.Example.COM")));
  EXPECT_EQ(got.state, State::kName);
  EXPECT_EQ(got.host, "files.example.com");
  EXPECT_EQ(read_client_hello(hello(kOther)).state, State::kNone);
}

TEST(ClientHelloTest, WaitsForAllOfIt) {
  const std::string whole = hello(server_name("a.test"));
  for (std::size_t size = 0; size < whole.size(); ++size)
    EXPECT_EQ(read_client_hello(whole.substr(0, size)).state, State::kMore) << size;
}

TEST(ClientHelloTest, IsPutTogetherFromRecords) {
  const std::string whole = hello(server_name("a.test"));
  const std::string message = whole.substr(5);
  const std::string cut = "\x16\x03\x01" + u16(20) + message.substr(0, 20) + "\x16\x03\x03" +
                          u16(message.size() - 20) + message.substr(20);
  EXPECT_EQ(read_client_hello(cut).host, "a.test");
}

TEST(ClientHelloTest, RefusesWhatCouldBeReadInTwoWays) {
  EXPECT_EQ(read_client_hello(hello(server_name("a.test") + server_name("b.test"))).state,
            State::kOther);
  EXPECT_EQ(read_client_hello(hello(server_name("a b"))).state, State::kOther);
  EXPECT_EQ(read_client_hello(hello(server_name(std::string("a.test\0.b", 9)))).state,
            State::kOther);
  EXPECT_EQ(read_client_hello("GET / HTTP/1.1\r\n").state, State::kOther);
  EXPECT_EQ(read_client_hello("SSH-2.0-x\r\n").state, State::kOther);
  EXPECT_EQ(read_client_hello(std::string("\x16\x03\x01\xff\xff", 5)).state, State::kOther);
}

TEST(ClientHelloTest, TellsWhereItEnds) {
  const std::string whole = hello(server_name("a.test"));
  EXPECT_EQ(read_client_hello(whole + "more").size, whole.size());
  const std::string message = whole.substr(5);
  // Another message in the last record would reach the server before it has answered.
  EXPECT_EQ(read_client_hello("\x16\x03\x01" + u16(message.size() + 4) + message +
                              std::string("\x01\0\0\0", 4))
                .state,
            State::kOther);
}

TEST(NextHelloTest, StandsBehindWhatServersPassOver) {
  const std::string whole = hello(server_name("a.test"));
  const std::string change("\x14\x03\x03\0\x01\x01", 6), early("\x17\x03\x03\0\x03xyz", 8);
  for (const std::string& before : {std::string(), change, early + change, change + early}) {
    const Shown got = read_next_hello(before + whole + "more");
    EXPECT_EQ(got.state, State::kName);
    EXPECT_EQ(got.host, "a.test");
    EXPECT_EQ(got.size, before.size() + whole.size());
    for (std::size_t size = 0; size < before.size() + whole.size(); ++size)
      EXPECT_EQ(read_next_hello((before + whole).substr(0, size)).state, State::kMore) << size;
  }
  EXPECT_EQ(read_next_hello(std::string("\x15\x03\x03\0\x02\x02\x28", 7) + whole).state,
            State::kOther)
      << "an alert";
  EXPECT_EQ(read_next_hello(std::string("\x14\x03\x03\0\x02\x01\x01", 7) + whole).state,
            State::kOther);
  EXPECT_EQ(read_next_hello(change + hello(kOther)).state, State::kNone);
}

TEST(RequestHeadTest, NamesItsHost) {
  const Shown got = read_request_head(
      "GET /debian/x?y HTTP/1.1\r\nAccept: */*\r\nhost:  Deb.Example.org:80 \r\n\r\nrest");
  EXPECT_EQ(got.state, State::kName);
  EXPECT_EQ(got.host, "deb.example.org");
  EXPECT_EQ(
      got.size,
      std::string("GET /debian/x?y HTTP/1.1\r\nAccept: */*\r\nhost:  Deb.Example.org:80 \r\n\r\n")
          .size());
  EXPECT_EQ(read_request_head("GET / HTTP/1.1\r\nHost: a").state, State::kMore);
  EXPECT_EQ(read_request_head("GET / HTTP/1.0\r\n\r\n").state, State::kNone);
  EXPECT_EQ(read_request_head("").state, State::kMore);
}

TEST(RequestHeadTest, RefusesWhatServersReadDifferently) {
  for (const char* text : {
           "GET http://evil.test/ HTTP/1.1\r\nHost: a.test\r\n\r\n",
           "CONNECT a.test:443 HTTP/1.1\r\nHost: a.test\r\n\r\n",
           "GET / HTTP/1.1\r\nHost: a.test\r\nHost: b.test\r\n\r\n",
           "GET / HTTP/1.1\r\nHost : a.test\r\n\r\n",
           "GET / HTTP/1.1\r\nX: y\r\n Host: a.test\r\n\r\n",
           "GET / HTTP/1.1\r\nX: y\nHost: b.test\r\nHost: a.test\r\n\r\n",
           "GET / HTTP/1.1\r\nHost: a.test:x\r\n\r\n",
           "GET /\tHTTP/1.1\nHost:b.test\nX: HTTP/1.1\r\nHost: a.test\r\n\r\n",
           "GET /\rHost:b.test HTTP/1.1\r\nHost: a.test\r\n\r\n",
           "GET / HTTP/1.1\r\nHost\x0b: b.test\r\nHost: a.test\r\n\r\n",
           "GET / HTTP/1.1\r\nHost: user@a.test\r\n\r\n",
           "GET  / HTTP/1.1\r\nHost: a.test\r\n\r\n",
           "GET / HTTP/2\r\nHost: a.test\r\n\r\n",
           "SSH-2.0-OpenSSH\r\n\r\n",
           "GET\r\n",
           "get / HTTP/1.1\r\nHost: a.test\r\n\r\n",
           "\r\nGET / HTTP/1.1\r\nHost: a.test\r\n\r\n",
       }) {
    EXPECT_EQ(read_request_head(text).state, State::kOther) << text;
  }
}

TEST(RequestHeadTest, IsReadTheSameInPieces) {
  for (const std::string text :
       {"GET / HTTP/1.1\r\nHost: a.test\r\nX: y\r\n\r\nbehind",
        "GETGETGETGETGETG / HTTP/1.1\r\nHost: a.test\r\n\r\n", "GET /\r\r\r\n\r\n\r\n",
        "GETGETGETGETGETGE / HTTP/1.1\r\n\r\n", "G\r\n\r\n", "GET / HTTP/1.0\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a.test\r\n\r"}) {
    const Shown whole = read_request_head(text);
    for (std::size_t step = 1; step < 6; ++step) {
      Shown last;
      for (std::size_t looked = 0, size = 0; last.state == State::kMore && size < text.size();
           looked = size) {
        size = std::min(size + step, text.size());
        last = read_request_head(std::string_view(text).substr(0, size), looked);
      }
      EXPECT_TRUE(last.state == whole.state && last.host == whole.host && last.size == whole.size)
          << text << " by " << step;
    }
  }
}

TEST(RequestHeadTest, EndlessHeadsEnd) {
  const std::string endless = "GET / HTTP/1.1\r\nX: " + std::string(kMostFirstBytes, 'x');
  EXPECT_EQ(read_request_head(endless).state, State::kOther);
}

}  // namespace
}  // namespace cay::gate
