#include "client/socket_end.h"

#include <gtest/gtest.h>

#include <set>

#include "client/command_stream.h"

namespace cay::client {
namespace {

Error end_with(int code, std::string reason = {}) {
  return error_of_end({http::WsMessage::Kind::kClosed, std::move(reason), code});
}

TEST(SocketEndTest, EveryCloseCodeHasItsWords) {
  std::set<std::string> words;
  for (int code = 1000; code <= 1015; ++code) {
    if (code == 1004) continue;  // reserved
    const auto error = end_with(code);
    EXPECT_NE(error.message.find(": "), std::string::npos) << "what to do: " << error.message;
    EXPECT_NE(error.message.find("(WebSocket close " + std::to_string(code) + ")"),
              std::string::npos)
        << error.message;
    words.insert(error.message.substr(0, error.message.find(" (WebSocket")));
  }
  EXPECT_EQ(words.size(), 15u) << "each its own";
  EXPECT_NE(end_with(4321).message.find("4321"), std::string::npos);
  EXPECT_NE(end_with(1001, "the daemon is ending").message.find("1001: the daemon is ending)"),
            std::string::npos);
}

TEST(SocketEndTest, OnlyWhatMayPassIsTriedAgain) {
  for (const int code : {1000, 1001, 1005, 1006, 1011, 1012, 1013, 1014, 4321}) {
    EXPECT_EQ(end_with(code).reason, "connection_lost") << code;
    EXPECT_TRUE(worth_a_retry(end_with(code))) << code;
  }
  for (const int code : {1002, 1003, 1007, 1008, 1009, 1010})
    EXPECT_FALSE(worth_a_retry(end_with(code))) << code;
}

TEST(SocketEndTest, AMessageThatIsTooLongNamesTheLimit) {
  const auto error = end_with(1009);
  EXPECT_EQ(error.code, Code::kInvalidArgument);
  EXPECT_EQ(error.reason, "body_too_large");
  EXPECT_NE(error.message.find("16777216 bytes"), std::string::npos) << error.message;
}

}  // namespace
}  // namespace cay::client
