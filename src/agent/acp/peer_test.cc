#include "agent/acp/peer.h"

#include <gtest/gtest.h>

#include <optional>

#include "async/testing.h"

namespace cay::agent::acp {
namespace {

namespace json = codec::json;

class PeerTest : public ::testing::Test {
 protected:
  void begin_request() {
    auto body = [](PeerTest* test) -> asio::awaitable<void> {
      auto asking = test->peer_.request("m", {{"x", 1}});
      auto got = co_await std::move(asking);
      test->got_.emplace(std::move(got));
    };
    asio::co_spawn(loop_, body(this), [](std::exception_ptr) {});
    loop_.poll();
  }
  void take(const char* text) {
    EXPECT_TRUE(peer_.take_answer(*codec::parse_object(text)));
    loop_.restart();
    loop_.poll();
  }

  asio::io_context loop_{1};
  std::string written_;
  Peer peer_{loop_.get_executor(), [this](std::string line) { written_ += line; }};
  std::optional<Result<json::value>> got_;
};

TEST_F(PeerTest, ARequestWaitsForItsAnswer) {
  begin_request();
  EXPECT_EQ(written_, R"({"jsonrpc":"2.0","id":1,"method":"m","params":{"x":1}})"
                      "\n");
  take(R"({"jsonrpc":"2.0","id":7,"result":{}})");
  EXPECT_FALSE(got_) << "an answer to another request";
  take(R"({"jsonrpc":"2.0","id":1,"result":{"y":2}})");
  ASSERT_TRUE(got_ && *got_);
  EXPECT_EQ(codec::write(**got_), R"({"y":2})");
}

TEST_F(PeerTest, AnErrorOfTheOtherSideIsAnError) {
  begin_request();
  take(R"({"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"unknown"}})");
  ASSERT_TRUE(got_ && !*got_);
  EXPECT_EQ(got_->error().reason, "peer_refused");
  EXPECT_NE(got_->error().message.find("unknown"), std::string::npos);
}

TEST_F(PeerTest, NobodyWaitsAfterTheEnd) {
  begin_request();
  peer_.close();
  loop_.restart();
  loop_.poll();
  ASSERT_TRUE(got_ && !*got_);
  EXPECT_EQ(got_->error().reason, "peer_gone");
}

TEST_F(PeerTest, ARequestOfTheOtherSideIsNoAnswer) {
  EXPECT_FALSE(peer_.take_answer({{"id", 1}, {"method", "initialize"}}));
}

}  // namespace
}  // namespace cay::agent::acp
