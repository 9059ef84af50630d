#include <set>

#include "api/native/native_test.h"
#include "core/verbs/drain.h"

namespace cay::api {
namespace {

TEST_F(NativeTest, DocumentAndRouterHoldTheSameRoutes) {
  std::set<std::string> routes;
  for (const auto& route : router.routes()) routes.insert(route.method + " " + route.pattern);
  std::set<std::string> documented;
  for (const auto& path : document.at("paths").get_object()) {
    for (const auto& operation : path.value().get_object()) {
      std::string method(operation.key());
      for (char& c : method) c = static_cast<char>(c & ~0x20);
      documented.insert(method + " " + std::string(path.key()));
    }
  }
  EXPECT_EQ(routes, documented);
}

void expect_resolves(const codec::json::value& node, const codec::json::object& document) {
  if (const auto* list = node.if_array()) {
    for (const auto& item : *list) expect_resolves(item, document);
  }
  const auto* object = node.if_object();
  if (object == nullptr) return;
  for (const auto& member : *object) {
    if (member.key() != "$ref") {
      expect_resolves(member.value(), document);
      continue;
    }
    const std::string target(member.value().get_string());
    boost::json::error_code failed;
    boost::json::value whole = document;
    const auto* found = whole.find_pointer(target.substr(1), failed);
    EXPECT_TRUE(found != nullptr && !failed) << target;
  }
}

TEST_F(NativeTest, EveryReferenceOfTheDocumentResolves) {
  expect_resolves(document.at("paths"), document);
}

TEST_F(NativeTest, OnlyHealthNeedsNoKey) {
  for (const auto& route : router.routes()) {
    EXPECT_EQ(route.auth == http::Auth::kNone, route.pattern == "/healthz") << route.pattern;
  }
}

TEST_F(NativeTest, DocumentTellsTheScopesOfEveryRoute) {
  constexpr KeyScope kAll[] = {KeyScope::kAdmin, KeyScope::kCreate, KeyScope::kRead, KeyScope::kUse,
                               KeyScope::kMonitor};
  for (const auto& route : router.routes()) {
    if (route.auth != http::Auth::kKey) continue;
    std::string method = route.method;
    for (char& c : method) c = static_cast<char>(c | 0x20);
    std::set<std::string> open, documented;
    for (const KeyScope scope : kAll) {
      if (allows(scope, route.right)) open.insert(std::string(text_of(scope)));
    }
    for (const auto& scope :
         document.at("paths").at(route.pattern).at(method).at("x-scopes").as_array()) {
      documented.insert(std::string(scope.as_string()));
    }
    EXPECT_EQ(open, documented) << route.method << " " << route.pattern;
  }
}

TEST_F(NativeTest, QueryParametersThatNobodyKnowsAreRefused) {
  const auto wrong = call("GET", "/api/v1/sandboxes?limt=1");
  EXPECT_EQ(wrong->status, 400);
  EXPECT_EQ(reason_of(wrong), "invalid_query");
  EXPECT_NE(wrong->answer_body.find("it takes claim, created_by, cursor, label"), std::string::npos)
      << wrong->answer_body;
  EXPECT_EQ(call("GET", "/api/v1/sandboxes?limit=1&state=ready")->status, 200);
  EXPECT_EQ(call("GET", "/api/v1/version?x=1")->status, 400);
  EXPECT_EQ(call("GET", "/metrics?collect=all")->status, 200)
      << "Prometheus may send what it likes";
}

TEST_F(NativeTest, AnEmptyNameIsNoName) {
  EXPECT_EQ(call("POST", "/api/v1/sandboxes", R"({"name":""})")->status, 400);
  EXPECT_EQ(call("POST", "/api/v1/sandboxes", "{}")->status, 201);
}

TEST_F(NativeTest, ReadyTellsWhatIsInTheWay) {
  EXPECT_EQ(call("GET", "/readyz")->status, 200);
  store.write_error = Error{Code::kUnavailable, "store_failed", "the disk is full", 0};
  auto again = call("GET", "/readyz");
  EXPECT_EQ(again->status, 200);  // read a moment ago
  store.write_error.reset();
}

TEST_F(NativeTest, MetricsTellStatesAndEnds) {
  make_box();
  call("POST", "/api/v1/sandboxes/box/commands", R"({"argv":["true"]})");
  settle();
  const std::string text = call("GET", "/metrics")->answer_body;
  for (const char* line :
       {"cay_sandboxes{state=\"ready\"} 1\n", "cay_sandboxes{state=\"failed\"} 0\n",
        "cay_commands_started_total 1\n", "cay_commands_ended_total{state=\"exited\"} 1\n",
        "cay_sandbox_creates_total{outcome=\"ok\"} 1\n", "cay_sandbox_create_seconds_count 1\n",
        "cay_queue_length{for=\"boot\"} 0\n", "cay_launcher_up 1\n",
        "cay_store_errors_total 0\n"}) {
    EXPECT_NE(text.find(line), std::string::npos) << line << "in\n" << text;
  }
}

TEST_F(NativeTest, AboutTheDaemon) {
  EXPECT_EQ(call("GET", "/healthz")->answer_body, R"({"status":"ok"})");
  EXPECT_EQ(json(call("GET", "/api/v1/version")).at("version").as_string(), "9.9.9");
  EXPECT_EQ(json(call("GET", "/api/v1/openapi.json")).at("openapi").as_string(), "3.1.0");
  EXPECT_EQ(json(call("GET", "/api/v1/snapshots")).at("items").as_array().size(), 1u);
  EXPECT_TRUE(json(call("GET", "/api/v1/usage")).contains("sandboxes_limit"));
  EXPECT_TRUE(json(call("GET", "/api/v1/doctor")).contains("features"));
}

TEST_F(NativeTest, DoctorTellsOfADrain) {
  Principal operator_key;
  operator_key.scope = KeyScope::kAdmin;
  const auto admitting = [this] {
    const auto report = json(call("GET", "/api/v1/doctor"));
    for (const auto& feature : report.at("features").as_array()) {
      if (feature.at("name").as_string() == "admitting") return feature.as_object();
    }
    return codec::json::object();
  };
  EXPECT_TRUE(admitting().at("ok").as_bool());
  ASSERT_TRUE(core::testing::run<core::DrainStatus>(loop, cay->drain().set(operator_key, true)));
  EXPECT_FALSE(admitting().at("ok").as_bool());
  EXPECT_EQ(admitting().at("remedy").as_string(), "cay drain --undo");
  const auto refused = json(call("POST", "/api/v1/sandboxes", "{}"));
  EXPECT_NE(refused.at("error").at("remedy").as_string().find("cay drain --undo"),
            std::string::npos)
      << "the error names it, too";
}

}  // namespace
}  // namespace cay::api
