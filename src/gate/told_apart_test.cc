#include "gate/told_apart.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

namespace cay::gate {
namespace {

using namespace std::string_literals;

TEST(ToldApartTest, TlsShowsAServerName) {
  EXPECT_EQ(told_apart("\x16"), std::nullopt);
  EXPECT_EQ(told_apart("\x16\x03"), Proof::kTls);
  for (const auto& odd : {"\x15\x03\x01"s, "\x14\x03"s, "\x18\x03"s, "\x16\x02\x01\0\x05\x01\0\x01"s, "\x16\x50\x01\x02\0\x01\0\0\x29"s, "\x16\xff\xff\x7f\xff\x01\x01"s,
                          "\x15\x02\0\0\x02\x01\x5a\x16"s, "\x15\0\0\0\x02\x02\0\x15"s, "\x15\x09\x09\0\x02\x05\0\x16"s, "\x14\0\0\0\x01\x01\x16"s, "\x16\0\0\0\0\x16"s, "\x18\0\0\0\0\x14"s, "\x16\0\0\0\x01\x01\x16"s, "\x16\0\0\0\x03\x01\0\0\x16"s}) {
    EXPECT_EQ(told_apart(odd), Proof::kTls) << "some server reads on behind it";
    std::string said;
    for (const char c : odd.substr(0, odd.size() - 1)) {
      if (told_apart(said += c)) break;
      keep_what_tells(said);
    }
    EXPECT_EQ(said, odd.substr(0, said.size())) << "nothing of it is left out";
    EXPECT_TRUE(odd.size() < 6 || !is_no_request_yet(std::string_view(odd).substr(0, odd.size() - 1))) << "though something answers";
  }
  EXPECT_EQ(told_apart("\x16\0\0\x01\0\x01\0\0\x22\n"s), Proof::kNone) << "no ClientHello is as short";
  EXPECT_EQ(told_apart("\x13\x03\n"), std::nullopt);
  EXPECT_EQ(told_apart("\x13\x03\n", true), Proof::kNone);
}

TEST(ToldApartTest, WhateverAServerCouldTakeForARequestIsOne) {
  for (const auto& request : {"GET / HTTP/1.1\r\n"s, "GET / HTTP/1.0\n"s, "get / http/1.1\r\n"s, "ODD-1 /\tHTTP/1.1\n"s, " \tGET  / HTTP/1.1 \r\n"s, "GET http://a.test/ HTTP/1.1\r\n"s,
                              "CONNECT a.test:1 HTTP/1.1\r\n"s, "GET http://a.test/x\r\n"s, "GET /x\r\n"s, "get\t /x\n"s, "OPTIONS *\r\n"s, "ANNOUNCE * RTSP/1.0\r\n"s, "SETUP *\r\n"s, "SOURCE * ICE/1.0\r\n"s, "SOURCE x ice/1.0\n"s, "GET *\r\n"s, "GET x\r\n"s, "GET rtsp://a RTSP/1.0\r\n"s,
                              "PROXY TCP4 1.2.3.4 5.6.7.8 1 2\r\n"s, "GET /\x80\x01 HTTP/1.1\r\n"s, "GET /\rHTTP/1.1\r\n"s, std::string(5'000, 'A') + " / HTTP/1.1\r\n",
                              "GET\r/\rHTTP/1.1\r\n"s, "GET\v/\fHTTP/1.1\n"s, "\x1cGET\x1d/\x1f HTTP/1.1\r\n"s, "GET\x85/\xa0HTTP/1.1\r\n"s, "GET /\0 HTTP/1.1\r\n"s, "GET /\0x\n"s, " \v\r\nGET / HTTP/1.1\r\n"s, "\x01\r\n\x02\nGET / HTTP/1.1\n"s, "\0GET /x HTTP/1.1\n"s,
                              "PRI * HTTP/2.0\r\n"s, "0032git-x / HTTP/1.1\r\n"s, "POST x\r\n"s, "DELETE secret/1\n"s, "HEAD x y\r\n"s, "HEAD\tx y z\n"s, "POST x FOO/1.1\r\n"s, "ODD x Foo/1.1\n"s,
                              "CONNECT 198.18.9.1:7001\r\n"s, "GET sip:x SIP/2.0\r\n"s, "HEAD x SIP/2.0\r\n"s, "PROPFIND x F\xe9/1.1\r\n"s, "PROPFIND x F/1.1\x01\r\n"s, "HEAD x\xa0y F/1.1\r\n"s, "PROPFIND x\x1cy F/1.1\n"s, "PROPFIND x F\xff/1.1\n"s}) {
    EXPECT_EQ(told_apart(request), Proof::kHttp) << request.substr(0, 40);
    for (std::size_t size = 0; size + 1 < request.size(); ++size) EXPECT_EQ(told_apart(std::string_view(request).substr(0, size)), std::nullopt) << request.substr(0, size);
  }
  EXPECT_EQ(told_apart("GET /x", true), Proof::kHttp) << "some servers take a line that ends with the connection";
  EXPECT_EQ(told_apart(std::string(kMostFirstBytes, 'A')), Proof::kHttp) << "it is refused then: some servers take a longer one";
}

// CPython's server takes any word for a method.
TEST(ToldApartTest, AnOddMethodMakesNoOtherProtocol) {
  for (const auto& request : {"G@T / HTTP/1.1\r\n"s, "GET\0 / HTTP/1.1\r\n"s, "\xff\x01 x HTTP/1.0\n"s, "0032git-x\0 / HTTP/1.1\r\n"s, "1\v/\vHTTP/1.1\n"s, "\x13\x7f / http/1.1\n"s, "\0\0\0\0\0G@T /\x1cHTTP/1.1\n"s, "G@T x HTTP/+1.1\n"s, "H@AD x \x01HTTP/1.1\r\n"s, "\x01H@AD x F/1.1\r\n"s, "G@T  HTTP/1.1\r\n"s, "@ x " + std::string(200, 'Y') + "/" + std::string(60, '0') + "1." + std::string(60, '1') + "\n", "@ " + std::string(200, 'x') + " F\xa0/1.1\n", "G@T x HTTP/1. 1\r\n"s, "@ x HTTP/1x/1.1\n"s, std::string(128, '@') + " /" + std::string(40, 'a') + " HTTP/1.1\r\n",
                              std::string(130, '@') + " x HTTP/" + std::string(60, '0') + "1.1\r\n", "@" + std::string(130, '\x01') + " x " + std::string(60, 'Y') + "/1.1\n", "\x7f \x84\x1cHTTP/1.1\n"s, std::string(9, '\x01') + std::string(9, ' ') + "\x02 HTTP/1.1\n", std::string(9, '\x01') + " @ HTTP/1.1\n", "\xffGET /x HTTP/1.1\n"s, "G@T http://e/ X/1.1\n"s, "@ x HTTP/1.1" + std::string(300, ' ') + "\r\n", "@ " + std::string(200, 'x') + " HTTP/1.1" + std::string(60, '\x01') + "\r\n", "@ x F/1.1" + std::string(300, '\x01') + "\n", "@ / x" + std::string(300, '\x01') + " HTTP/1.1\n", "g{T / HTTP/1." + std::string(170, '0') + "1\x03\r\n", "g{T /" + std::string(170, 'a') + " HTTP/1." + std::string(40, '0') + "1\x03\r\n", std::string(9'000, '\x01') + "\n@ / HTTP/1.1\n",
                              "\x80\x01\x02 / HTTP/1.1\n"s, std::string(70'000, '@') + " / HTTP/1.1\n",
                              // As cheroot parts words, and int() reads numbers.
                              "\x01G@T /x HTTP/1. 1\r\n"s, "\x01 /x HTTP/1. 1\r\n"s, std::string(9, '\x85') + " /x HTTP/1. 1\r\n", "G\x1cT /x HTTP/1. 1\r\n"s, "@\t /x HTTP/ +1 .\t-1\r\n"s, "G@T /" + std::string(300, 'a') + " HTTP/1. 1\r\n", std::string(300, '@') + " /x HTTP/1.1 .\t1\r\n",
                              "@ /" + std::string(300, 'a') + " HTTP/" + std::string(300, ' ') + "+1" + std::string(300, '1') + ". 1\r\n", "@ / HTTP/" + std::string(300, '1') + ". 1\r\n", "@\tHTTP/" + std::string(200, '1') + " /x HTTP/1. 1\r\n",
                              "@ \x01\x01 F/1.1\n"s, "@ " + std::string(300, '\x01') + " F/1.1\n"}) {
    EXPECT_EQ(told_apart(request), Proof::kHttp) << request.substr(0, 40);
    EXPECT_EQ(read_request_head(request).state, Shown::State::kOther) << "so it is refused";
    // As it comes, byte by byte.
    std::string said;
    std::optional<Proof> told;
    for (const char c : request) {
      told = told_apart(said += c);
      if (told) break;
      keep_what_tells(said);
      ASSERT_LT(said.size(), 200u);
    }
    EXPECT_EQ(told, Proof::kHttp) << request.substr(0, 40);
  }
}

TEST(ToldApartTest, AFirstByteMayBeALength) {
  const auto minecraft = "\x15\0\xfd\x05\x0emc.example.com\x63\xdd\x02"s, rcon = "\x14\0\0\0\x01\0\0\0\x03\0\0\0password12\0\0"s;
  for (const auto& said : {minecraft, rcon, "\x18\0\0\x01\x85\xa6\x3f\0"s, "\x16\0\xfd\x05\x0fmc2.example.com\x63\xdd\x02"s}) {
    EXPECT_EQ(told_apart(said, true), Proof::kNone) << said;
    EXPECT_EQ(told_apart(said + "\n"), Proof::kNone) << said;
    EXPECT_EQ(told_apart(said), std::nullopt) << "Netty passes over such bytes before a request";
    EXPECT_TRUE(is_no_request_yet(said));
  }
  EXPECT_EQ(told_apart("\x16\0\0\0\x01\x02@ / HTTP/1.1\n"s), Proof::kHttp);
  // What is left out makes no ClientHello of it that names nobody.
  std::string kept = "\x16\x02\x01"s + std::string(20, '\x05') + "!!\x01\0\x20\0";
  keep_what_tells(kept);
  EXPECT_NE(told_apart(kept), Proof::kTls) << kept;
  kept = "\x14 %\x10\0\0\0"s;
  keep_what_tells(kept);
  EXPECT_EQ(told_apart(kept + "\0\0\0\r1 HTTP/1.0\r\n"s), Proof::kHttp) << kept;
}

// Its packets begin with a size, an id and a type, little-endian. Ids count up, or are fixed.
TEST(ToldApartTest, SourcesRconIsNoTlsWhateverItsId) {
  for (unsigned id = 0; id < 1'024; ++id) {
    for (char password = 8; password <= 16; ++password) {
      const std::string head = {static_cast<char>(password + 10), 0, 0, 0, static_cast<char>(id & 0xff), static_cast<char>(id >> 8), 0, 0, 3, 0, 0, 0};
      const std::string said = head + std::string(static_cast<std::size_t>(password), 'p') + "\0\0"s;
      ASSERT_EQ(told_apart(said, true), Proof::kNone) << id << " " << +password;
      ASSERT_EQ(told_apart(said), std::nullopt) << id << " " << +password;
      ASSERT_TRUE(is_no_request_yet(said));
    }
  }
}

// Of lines that are kept whole it is told exactly; how many words there were in a longer one nobody knows.
TEST(ToldApartTest, WhereALineIsCutTellsNothing) {
  const std::string parts[] = {"F", "g", "/", "x/1.1", "HTTP/1.1", "CONNECT", " ", "\t", "\r", "\v", "\0"s, "\1", "\x16", "\x1c", "\x85", "\xa0", "\xff"};
  constexpr std::size_t kParts = std::size(parts);
  const auto pieces_of = [](std::string_view line, std::size_t first, std::size_t second) {
    std::string said;
    for (const auto piece : {line.substr(0, first), line.substr(first, second - first), line.substr(second)}) {
      if (const auto told = told_apart(said += piece)) return told;
      keep_what_tells(said);
    }
    return std::optional<Proof>();
  };
  for (std::size_t which = 0; which < kParts * kParts * kParts * kParts; ++which) {
    const std::string a = parts[which % kParts], b = parts[which / kParts % kParts], c = parts[which / kParts / kParts % kParts], d = parts[which / kParts / kParts / kParts];
    for (const auto& line : {a + b + c + d + "\n", "F" + a + b + "x" + c + d + "/1.1\n"}) {
      const auto told = told_apart(line);
      const std::size_t first = 1 + which % (line.size() - 1), second = std::max(first, 1 + which / kParts % (line.size() - 1));
      ASSERT_EQ(pieces_of(line, first, second), told) << testing::PrintToString(line) << " " << first << " " << second;
    }
  }
  // Lengths in front, and what no line ends.
  for (const auto& [head, behind] : {std::pair("RECV\0\0\0\x0c"s, "/etc/passwd\n"s), std::pair("F\0\0\0\x20"s, std::string(20'000, 'x')), std::pair("CONNECT\0 "s, std::string(17'000, '\1')),
                                     std::pair("l\0\x0b\0\0\0\0\0\0\0\0\0"s, std::string(17'000, 'x')), std::pair("RECV" + std::string(300, '\0') + "\x0c", "/etc/passwd\n"s)}) {
    const auto told = told_apart(head + behind);
    EXPECT_NE(told, Proof::kHttp);
    EXPECT_EQ(pieces_of(head + behind, head.size(), head.size() + 1), told) << head;
  }
}

// ... of which bytes as they come go on.
TEST(ToldApartTest, OtherProtocolsAreNoRequests) {
  for (const auto& said : {"\0\0\0\x08\x04\xd2\x16\x2f"s, "SSH-2.0-OpenSSH_9.2p1 Debian-2\r\n"s, "*1\r\n$4\r\nPING\r\n"s, "EHLO a.test\r\n"s, "get a\r\n"s, "GET\r\n"s, "AMQP\0\0\x09\x01"s,
                           "0032git-upload-pack /srv/http/a.git\0host=a\0"s, "{\"id\": 1, \"url\": \"http://a/\"}"s, "INVITE sip:a@b SIP/2.0\r\n"s, "OPTIONS sip:a@b.test SIP/2.0\r\n"s, "<30>Oct 11 22:14:15 host app: started PHP/8.2"s, "USER bot 0 * :bot/1.0"s, "KEYS *\r\n"s, "SET a\0/\r\n"s, "\x30\x0c\x02"s, "\x80\x2e\x01\x03\x03"s, "\x94\0\x01\xa4ping"s, "\x21\0\0\x03INSERT INTO t VALUES ('GET /index.html HTTP/1.1')"s,
                           "{\"time\":\"2026-01-01T00:00:00Z\",\"level\":\"INFO\",\"msg\":\"GET /users\",\"status\":200}"s, "{\"msg\":\"open /etc/x\"}"s, "{\"version\":\"1.1\",\"short_message\":\"GET / HTTP/1.1\"}\0"s,
                           "<13>app: /usr/bin/x started"s, "2024-01-01T00:00:00Z /usr/bin/x started"s, "<ping />"s, "get device/42\r\n"s, "set service/x 0 0 1\r\n"s, "PASS alice/libera:pw\r\n"s, "INVITE sip:office/42@a SIP/2.0\r\n"s, "CONNECT {\"name\": \"service/orders\"}\r\n"s, "CONNECT\r\n"s,
                           "level=info msg=\"GET /x HTTP/1.1\" took=2ms"s, "PING\r\n"s, "HEAD\r\n"s, "HEAD 42 \r\n"s, "HEAD <a@b.test>\r\n"s, "a\xff"s, "g@t /x HTTP/1. 1"s, "G@T /x /y HTTP/1. 1"s, "G@T /x HTTP/ + 1"s, "\x05\x01\0\x03\x06 a.test\x01\xbb\x16\x03\x01\0\x0b\x02h2\x08http/1.1"s}) {
    EXPECT_EQ(told_apart(said + "\n"), Proof::kNone) << said;
    EXPECT_EQ(told_apart(said, true), Proof::kNone) << said;
  }
  EXPECT_EQ(told_apart("PING"), std::nullopt);
  EXPECT_TRUE(is_no_request_yet("{\"id\":") && is_no_request_yet("\0\0\0\x08\x04\xd2\x16\x2f"s));
  EXPECT_TRUE(is_no_request_yet("\x05\x01\0"s));
  EXPECT_FALSE(is_no_request_yet("PING") || is_no_request_yet(" PING") || is_no_request_yet(""));
  std::string long_line(50'000, '@');
  EXPECT_EQ(told_apart(long_line), std::nullopt) << "however long";
  keep_what_tells(long_line);
  EXPECT_EQ(told_apart(long_line + "\n"), Proof::kNone);
  std::string logged = "{\"GET /" + std::string(300, 'x') + "\" \"GET /x HTTP/1. ";
  keep_what_tells(logged);
  EXPECT_EQ(told_apart(logged + "1\n"), Proof::kNone) << "no version is its third word's: " << logged;
  std::string of_a_token(1'000, 'A'), as_it_was = of_a_token;
  keep_what_tells(of_a_token);
  EXPECT_EQ(of_a_token, as_it_was) << "it may be read yet";
}

// A guest may send a line byte by byte, and what is looked at costs the gate's one thread.
TEST(ToldApartTest, WhatWasLookedAtIsNotLookedAtAgain) {
  Looked looked;
  std::string said(1'000, 'A');
  EXPECT_EQ(told_apart(said, false, &looked), std::nullopt);
  EXPECT_EQ(looked.word, said.size());
  said[5] = '@';
  EXPECT_TRUE(is_no_request_yet(said));
  EXPECT_FALSE(is_no_request_yet(said += 'B', &looked));
  EXPECT_EQ(looked.word, said.size());
  said[5] = 'A';
  EXPECT_EQ(told_apart(said + " b\n", false, &looked), Proof::kNone);
  EXPECT_TRUE(is_no_request_yet(said += '{', &looked)) << "but what is new is";
  keep_what_tells(said, &looked);
  EXPECT_EQ(looked.word, 0u) << "and all of what was made of it";
  EXPECT_EQ(told_apart(said + " / HTTP/1.1\n", false, &looked), Proof::kHttp);
}

}  // namespace
}  // namespace cay::gate
