#include "gate/detect_protocol.h"

#include <gtest/gtest.h>

#include <string>

#include "gate/first_bytes.h"

namespace cay::gate {
namespace {

using namespace std::string_literals;

std::optional<Proof> detect(std::string_view bytes) { return ProtocolDetector().add(bytes); }

// One byte at a time.
std::optional<Proof> detect_slowly(std::string_view bytes) {
  ProtocolDetector detector;
  std::optional<Proof> found;
  for (std::size_t i = 0; i < bytes.size() && !found; ++i) found = detector.add(bytes.substr(i, 1));
  return found;
}

TEST(ProtocolDetectorTest, AHandshakeRecordIsTls) {
  EXPECT_EQ(detect(""), std::nullopt);
  EXPECT_EQ(detect("\x16"), std::nullopt);
  EXPECT_EQ(detect("\x16\x03"), Proof::kTls);
  EXPECT_EQ(detect_slowly("\x16\x03\x01"), Proof::kTls);
  EXPECT_EQ(detect("\r\n\x16\x03"), Proof::kNone);
}

TEST(ProtocolDetectorTest, AFirstLineOfHttpIsARequest) {
  for (const auto& line :
       {"GET / HTTP/1.1\r\n"s, "GET / HTTP/1.0\n"s, "odd~method * HTTP/1.1\r\n"s,
        "GET http://a.test/ HTTP/1.1\r\n"s, "CONNECT a.test:1 HTTP/1.1\r\n"s,
        "\r\n\n\rGET / HTTP/1.1\r\n"s, "GET /\x80\xff HTTP/1.1\r\n"s, "PRI * HTTP/2.0\r\n"s,
        "G / HTTP/"s, std::string(20'000, 'A') + " / HTTP/1.1\r\n",
        "GET /" + std::string(20'000, 'a') + " HTTP/1.1\r\n"}) {
    EXPECT_EQ(detect(line), Proof::kHttp) << line.substr(0, 40);
    EXPECT_EQ(detect_slowly(line), Proof::kHttp) << line.substr(0, 40);
    const std::size_t decided = line.find(" HTTP/") + 6;
    EXPECT_EQ(detect(line.substr(0, decided - 1)), std::nullopt)
        << "nothing earlier decides: " << line.substr(0, 40);
  }
}

TEST(ProtocolDetectorTest, EverythingElseIsAnotherProtocol) {
  for (const auto& said : {"\x16\x02\x01\0\x05"s,
                           "\x15\x03\x01\0\x02\x01\x5a"s,
                           "\x14\x03"s,
                           "\x80\x2e\x01\x03\x03"s,  // records
                           "\0\0\0\x08\x04\xd2\x16\x2f"s,
                           "\x21\0\0\x01login"s,
                           "\x15\0\xfd\x05\x0emc.example.com"s,
                           "\x14\0\0\0\x01\0\0\0\x03\0\0\0password12\0\0"s,
                           "\x10\x1a\0\4MQTT\4"s,
                           "AMQP\0\0\x09\x01"s,  // binary
                           "SSH-2.0-OpenSSH_9.2p1 Debian-2\r\n"s,
                           "*1\r\n$4\r\nPING\r\n"s,
                           "EHLO a.test\r\n"s,
                           "get /user/1\r\n"s,
                           "set service/x 0 0 1\r\n"s,
                           "HEAD 42\r\n"s,
                           "GET\r\n"s,
                           "0032git-upload-pack /a.git\0host=a\0"s,
                           "OPTIONS sip:a@b.test SIP/2.0\r\n"s,
                           "{\"url\": \"http://a/ HTTP/1.1\"}"s,
                           "<30>app: GET / HTTP/1.1\n"s,
                           "CONNECT {\"name\": \"service/orders\"}\r\n"s,
                           "PROXY TCP4 1.2.3.4 5.6.7.8 1 2\r\n"s,  // text
                           "G@T / HTTP/1.1\r\n"s,
                           " GET / HTTP/1.1\r\n"s,
                           "GET  / HTTP/1.1\r\n"s,
                           "GET /\tHTTP/1.1\r\n"s,
                           "GET / http/1.1\r\n"s,
                           "GET / x HTTP/1.1\r\n"s,
                           "GET /\0 HTTP/1.1\r\n"s,
                           "GET /x\r\n"s,  // no request line
                           "\0GET / HTTP/1.1\r\n"s,
                           "GET  HTTP/1.1\r\n"s}) {
    EXPECT_EQ(detect(said), Proof::kNone) << said;
    EXPECT_EQ(detect_slowly(said), Proof::kNone) << said;
  }
  EXPECT_EQ(detect("PING"), std::nullopt) << "its line has not ended";
}

TEST(ProtocolDetectorTest, AnAnswerIsFinal) {
  ProtocolDetector detector;
  EXPECT_EQ(detector.add("PING\r\n"), Proof::kNone);
  EXPECT_EQ(detector.add("GET / HTTP/1.1\r\n"), Proof::kNone);
}

// The strict readers find no name in anything that the detector misses.
TEST(ProtocolDetectorTest, ARequestThatNamesAHostIsFound) {
  const auto request = "GET /x HTTP/1.1\r\nHost: a.test\r\n\r\n"s;
  ASSERT_EQ(read_request_head(request).state, Shown::State::kName);
  EXPECT_EQ(detect(request), Proof::kHttp);
}

}  // namespace
}  // namespace cay::gate
