#include "api/daytona/daytona_test.h"

namespace cay::api::daytona {
namespace {

using RoutesTest = DaytonaTest;

TEST_F(RoutesTest, ASandboxIsMadeFoundAndRemoved) {
  const auto made = make_sandbox(R"({"name":"box","labels":{"a":"1"},"env":{"K":"v"}})");
  EXPECT_EQ(text(made, "state"), "started");
  EXPECT_EQ(text(made, "toolboxProxyUrl"), "http://127.0.0.1:8787/daytona/toolbox");
  const std::string id = text(made, "id");
  for (const std::string& ref : {id, std::string("box")}) {
    const auto got = call("GET", "/daytona/sandbox/" + ref);
    EXPECT_EQ(got->status, 200);
    EXPECT_EQ(text(json(got), "id"), id);
  }
  const auto gone = call("DELETE", "/daytona/sandbox/" + id);
  EXPECT_EQ(gone->status, 200);
  EXPECT_EQ(text(json(gone), "state"), "destroyed");
  EXPECT_EQ(call("GET", "/daytona/sandbox/" + id)->status, 404);
}

TEST_F(RoutesTest, ErrorsAreInTheShapeOfTheirPlane) {
  const auto api = json(call("GET", "/daytona/sandbox/none?x=1"));
  EXPECT_EQ(text(api, "message"), "Sandbox with ID or name none not found");
  EXPECT_EQ(text(api, "path"), "/daytona/sandbox/none");
  EXPECT_EQ(text(api, "code"), "NOT_FOUND");
  EXPECT_EQ(text(api, "source"), "DAYTONA_API");
  EXPECT_EQ(text(api, "error"), "Not Found");
  EXPECT_EQ(api.at("statusCode").as_int64(), 404);
  const auto toolbox = json(call("GET", "/daytona/toolbox/none/version"));
  EXPECT_EQ(text(toolbox, "source"), "DAYTONA_DAEMON");
  EXPECT_EQ(text(toolbox, "method"), "GET");
}

TEST_F(RoutesTest, TheShapeBeforeAHandlerIsTheSame) {
  auto handle = exchange("GET", "/daytona/nothing");
  const Error error{Code::kUnauthenticated, "no_key", "no key", 0};
  const auto response = router.shape(handle->request, 401, error);
  EXPECT_EQ(response.status, 401);
  EXPECT_NE(response.body.find(R"("code":"UNAUTHORIZED")"), std::string::npos) << response.body;
}

TEST_F(RoutesTest, ConfigurationNamesTheToolbox) {
  const auto config = json(call("GET", "/daytona/config"));
  EXPECT_EQ(text(config, "proxyToolboxUrl"), "http://127.0.0.1:8787/daytona/toolbox");
  EXPECT_EQ(call("GET", "/daytona/health")->status, 200);
}

TEST_F(RoutesTest, TheChannelForEventsIsRefusedInItsOwnWords) {
  EXPECT_EQ(call("GET", "/daytona/socket.io/")->status, 501);
  auto handle = exchange("GET", "/daytona/socket.io/?EIO=4&transport=websocket");
  handle->request.wants_websocket = true;
  auto running = begin(handle);
  settle();
  ASSERT_TRUE(handle->socket);
  ASSERT_EQ(handle->socket->sent.size(), 2u);
  EXPECT_EQ(handle->socket->sent[0].data.substr(0, 2), "0{");
  EXPECT_EQ(handle->socket->sent[1].data.substr(0, 14), R"(44{"message":")");
  EXPECT_FALSE(running.done());  // a client that is closed would come again
  handle->socket->client_close();
  settle();
  EXPECT_TRUE(running.done());
}

}  // namespace
}  // namespace cay::api::daytona
