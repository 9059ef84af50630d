#include "agent/acp/server.h"

#include <gtest/gtest.h>

#include <optional>

#include "async/testing.h"

namespace cay::agent::acp {
namespace {

namespace json = codec::json;

// Plays one call that must be approved.
class FakeSessions : public Sessions {
 public:
  explicit FakeSessions(asio::any_io_executor loop) : cancelled_(std::move(loop)) {}
  Task<std::string> create(json::array mcp_servers) override {
    servers = std::move(mcp_servers);
    co_return "t1";
  }
  Task<std::vector<ThreadEvent>> load(std::string id, json::array) override {
    if (id != "old") co_return Error{Code::kNotFound, "thread_not_found", "no thread " + id, 0};
    const auto event = [](Role role, std::string type) {
      return ThreadEvent{.type = std::move(type),
                         .data = {{"message", to_json(Message::of(role, "earlier"))}}};
    };
    co_return std::vector<ThreadEvent>{event(Role::kUser, "user_message"),
                                       event(Role::kAssistant, "assistant_message")};
  }
  Task<json::object> prompt(std::string, std::vector<Block> given, Watch watch) override {
    blocks = std::move(given);
    if (waits) {
      co_await cancelled_.wait();
      co_return json::object{{"state", "cancelled"}};
    }
    watch.on_delta({Delta::Kind::kText, "hel"});
    watch.on_delta({Delta::Kind::kText, "lo"});
    std::vector<ToolCall> calls{{"c1", "execute", R"({"command":"ls"})"}};
    auto asking = watch.ask(calls);
    auto got = co_await std::move(asking);
    if (!got) co_return std::move(got).error();
    permissions = *got;
    if (!destination.empty()) {
      auto asking_network = watch.ask_network("q1", destination);
      auto answer = co_await std::move(asking_network);
      if (!answer) co_return std::move(answer).error();
      network = *answer;
    }
    co_return json::object{{"state", "done"}};
  }
  void cancel(const std::string&) override { cancelled_.set(); }

  json::array servers;
  std::vector<Block> blocks;
  std::vector<Permission> permissions;
  bool waits = false;
  std::string destination{};  // that a command wants to reach; empty: none
  std::optional<NetworkPermission> network{};

 private:
  Event cancelled_;
};

class ServerTest : public ::testing::Test {
 protected:
  ServerTest() {
    asio::co_spawn(loop_, server_.serve(lines_), [this](std::exception_ptr) { ended_ = true; });
  }
  // Returns the messages that the server writes for `line`.
  std::vector<json::object> send(const std::string& line) {
    written_.clear();
    lines_.try_push(line);
    loop_.restart();
    loop_.poll();
    return written_;
  }
  void start() { send(R"({"jsonrpc":"2.0","id":1,"method":"session/new","params":{}})"); }
  std::vector<json::object> prompt(int id) {
    return send(R"({"jsonrpc":"2.0","id":)" + std::to_string(id) +
                R"(,"method":"session/prompt","params":{"sessionId":"t1",)"
                R"("prompt":[{"type":"text","text":"hi"}]}})");
  }

  asio::io_context loop_{1};
  FakeSessions sessions_{loop_.get_executor()};
  std::vector<json::object> written_;
  Channel<std::string> lines_{loop_.get_executor(), 100};
  Server server_{loop_.get_executor(),
                 sessions_,
                 {.version = "1", .sees_images = true},
                 [this](std::string line) { written_.push_back(*codec::parse_object(line)); }};
  bool ended_ = false;
};

TEST_F(ServerTest, Initializes) {
  const auto got =
      send(R"({"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1}})");
  ASSERT_EQ(got.size(), 1U);
  const json::object& result = got[0].at("result").as_object();
  EXPECT_EQ(result.at("protocolVersion"), 1);
  EXPECT_EQ(result.at("agentCapabilities").as_object().at("loadSession"), true);
}

TEST_F(ServerTest, APromptMayHaveImages) {
  start();
  const auto prompt_of = [&](const std::string& block) {
    return send(R"({"jsonrpc":"2.0","id":2,"method":"session/prompt","params":{"sessionId":"t1",)"
                R"("prompt":[{"type":"text","text":"see"},)" +
                block + "]}}");
  };
  for (const char* wrong : {R"({"type":"image","mimeType":"image/png","data":"%%"})",
                            R"({"type":"image","mimeType":"image/png","data":""})",
                            R"({"type":"image","mimeType":"text/plain","data":"QUI="})",
                            R"({"type":"audio","mimeType":"audio/wav","data":"QUI="})", "7"}) {
    const auto got = prompt_of(wrong);
    ASSERT_EQ(got.size(), 1U) << wrong;
    EXPECT_TRUE(got[0].contains("error")) << wrong;
  }
  prompt_of(R"({"type":"image","mimeType":"image/png","data":"QUI="})");
  EXPECT_EQ(sessions_.blocks, (std::vector<Block>{Text{"see"}, Media{"image/png", "AB"}}));
}

TEST_F(ServerTest, APromptStreamsAsksAndEnds) {
  start();
  auto got = prompt(2);
  ASSERT_EQ(got.size(), 3U);
  EXPECT_EQ(codec::write(got[0]),
            R"({"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"t1",)"
            R"("update":{"sessionUpdate":"agent_message_chunk",)"
            R"("content":{"type":"text","text":"hel"}}}})");
  EXPECT_EQ(got[2].at("method"), "session/request_permission");
  const json::object& params = got[2].at("params").as_object();
  EXPECT_EQ(params.at("toolCall").as_object().at("toolCallId"), "c1");
  ASSERT_EQ(params.at("options").as_array().size(), 3U);
  EXPECT_EQ(params.at("options").as_array().at(1).as_object().at("name"),
            "Always allow this exact command");
  got = send(R"({"jsonrpc":"2.0","id":1,"result":)"
             R"({"outcome":{"outcome":"selected","optionId":"always"}}})");
  ASSERT_EQ(got.size(), 1U);
  EXPECT_EQ(codec::write(got[0]), R"({"jsonrpc":"2.0","id":2,"result":{"stopReason":"end_turn"}})");
  EXPECT_EQ(sessions_.permissions, std::vector{Permission::kGranted});
  EXPECT_EQ(sessions_.blocks, std::vector<Block>{Text{"hi"}});

  got = prompt(3);
  EXPECT_EQ(got.back().at("id"), 3) << "`always` holds for the session: nobody is asked again";
}

TEST_F(ServerTest, ADestinationIsAskedForByName) {
  start();
  sessions_.destination = "db.example:5432";
  const std::pair<const char*, NetworkPermission> answers[] = {
      {R"({"outcome":"selected","optionId":"allow"})", NetworkPermission::kOnce},
      {R"({"outcome":"selected","optionId":"always"})", NetworkPermission::kAlways},
      {R"({"outcome":"selected","optionId":"reject"})", NetworkPermission::kRefused},
      {R"({"outcome":"cancelled"})", NetworkPermission::kRefused}};
  for (const auto& [outcome, expected] : answers) {
    const auto call = prompt(2).back();
    const auto asked = send(R"({"jsonrpc":"2.0","id":)" + codec::write(call.at("id")) +
                            R"(,"result":{"outcome":{"outcome":"selected","optionId":"allow"}}})")
                           .back();
    EXPECT_EQ(asked.at("method"), "session/request_permission");
    const json::object& params = asked.at("params").as_object();
    const json::object& about = params.at("toolCall").as_object();
    EXPECT_EQ(about.at("title"), "The sandbox wants to reach db.example:5432");
    EXPECT_EQ(about.at("toolCallId"), "network-q1");
    EXPECT_EQ(params.at("options").as_array().at(1).as_object().at("name"),
              "Always allow db.example:5432");
    send(R"({"jsonrpc":"2.0","id":)" + codec::write(asked.at("id")) + R"(,"result":{"outcome":)" +
         outcome + "}}");
    EXPECT_EQ(sessions_.network, expected) << outcome;
  }
}

TEST_F(ServerTest, ARejectedOrCancelledQuestionRejects) {
  start();
  for (const char* outcome :
       {R"({"outcome":"selected","optionId":"reject"})", R"({"outcome":"cancelled"})"}) {
    const auto asked = prompt(2).back();
    send(R"({"jsonrpc":"2.0","id":)" + codec::write(asked.at("id")) + R"(,"result":{"outcome":)" +
         outcome + "}}");
    EXPECT_EQ(sessions_.permissions, std::vector{Permission::kRefused}) << outcome;
  }
}

TEST_F(ServerTest, ACancelEndsThePromptAtOnce) {
  sessions_.waits = true;
  start();
  EXPECT_TRUE(prompt(2).empty());
  const auto refused = prompt(3);
  ASSERT_EQ(refused.size(), 1U);
  EXPECT_TRUE(refused[0].contains("error")) << "one prompt of a session at a time";
  const auto got =
      send(R"({"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"t1"}})");
  ASSERT_EQ(got.size(), 1U);
  EXPECT_EQ(codec::write(got[0]),
            R"({"jsonrpc":"2.0","id":2,"result":{"stopReason":"cancelled"}})");
}

TEST_F(ServerTest, AFormerSessionIsShownAgain) {
  auto got =
      send(R"({"jsonrpc":"2.0","id":1,"method":"session/load","params":{"sessionId":"old"}})");
  ASSERT_EQ(got.size(), 3U);
  const auto kind = [&](std::size_t at) {
    return got[at].at("params").as_object().at("update").as_object().at("sessionUpdate");
  };
  EXPECT_EQ(kind(0), "user_message_chunk");
  EXPECT_EQ(kind(1), "agent_message_chunk");
  EXPECT_TRUE(got[2].at("result").is_object());
  got = send(R"({"jsonrpc":"2.0","id":2,"method":"session/load","params":{"sessionId":"x"}})");
  ASSERT_EQ(got.size(), 1U);
  EXPECT_EQ(got[0].at("error").as_object().at("code"), kNotFound);
}

TEST_F(ServerTest, RefusesMessagesThatItCannotServe) {
  EXPECT_EQ(send("{").at(0).at("error").as_object().at("code"), kParseError);
  EXPECT_EQ(send("[]").at(0).at("error").as_object().at("code"), kInvalidRequest);
  EXPECT_EQ(
      send(R"({"jsonrpc":"2.0","id":1,"method":"x"})").at(0).at("error").as_object().at("code"),
      kMethodNotFound);
  EXPECT_EQ(prompt(5).at(0).at("error").as_object().at("code"), kInvalidParams);
  EXPECT_TRUE(send(R"({"jsonrpc":"2.0","method":"unknown/notification"})").empty());
}

TEST_F(ServerTest, EndsWithItsInput) {
  start();
  sessions_.waits = true;
  prompt(2);
  lines_.close();
  loop_.restart();
  loop_.poll();
  EXPECT_TRUE(ended_);
}

}  // namespace
}  // namespace cay::agent::acp
