#include "api/langsmith/langsmith_test.h"
#include "core/verbs/sandboxes.h"

namespace cay::api::langsmith {
namespace {

TEST_F(LangsmithTest, TheSameControlPlaneUnderEveryPrefix) {
  const auto box = make_box();
  const std::string id(box.at("id").as_string());
  for (const std::string prefix :
       {"/v2/sandboxes", "/api/v2/sandboxes", "/api/v1/v2/sandboxes", "/api/api/v2/sandboxes"}) {
    const auto got = json(call("GET", prefix + "/boxes/" + id));
    EXPECT_EQ(got.at("name").as_string(), "box");
    EXPECT_EQ(got.at("dataplane_url").as_string(), "http://127.0.0.1:8787" + prefix + "/dp/" + id);
    EXPECT_EQ(json(call("GET", prefix + "/boxes")).at("sandboxes").as_array().size(), 1u);
  }
  for (const auto* info : {"/info", "/api/info", "/api/v1/info"}) {
    EXPECT_EQ(json(call("GET", info)).at("version").as_string(), "0.16.0");
  }
}

TEST_F(LangsmithTest, ABoxHasTheVendorsDefaults) {
  const auto box = make_box();
  EXPECT_EQ(box.at("status").as_string(), "ready");
  EXPECT_TRUE(box.at("status_message").is_null());
  EXPECT_EQ(box.at("idle_ttl_seconds").as_int64(), 600);
  EXPECT_EQ(box.at("delete_after_stop_seconds").as_int64(), 14 * 86'400);
  EXPECT_EQ(box.at("vcpus").as_int64(), 1);
  EXPECT_EQ(box.at("mem_bytes").as_int64(), std::int64_t{4} << 30);
  EXPECT_FALSE(box.at("snapshot_id").as_string().empty());
}

TEST_F(LangsmithTest, ACommandThatRunsKeepsItsBoxAwake) {
  const auto made = call("POST", kBoxes, R"({"name":"box","idle_ttl_seconds":60})");
  ASSERT_EQ(made->status, 201) << made->answer_body;
  auto& numbers = runtime.only_box().numbers;
  const auto pass_a_minute = [this] {
    clock.advance(std::chrono::seconds(60));
    EXPECT_TRUE(core::testing::run<Sandbox>(
        loop, cay->sandboxes().update(exchange("GET", kBoxes)->principal(), "box",
                                      {})));  // wakes the timers
    settle();
    return json(call("GET", std::string(kBoxes) + "/box/status")).at("status").as_string();
  };
  numbers.quiet_ms = 0;
  EXPECT_EQ(pass_a_minute(), "ready");
  EXPECT_EQ(pass_a_minute(), "ready");
  numbers.quiet_ms = 60'000;
  EXPECT_EQ(pass_a_minute(), "stopped");
}

TEST_F(LangsmithTest, RenameKeepsTheId) {
  const auto box = make_box();
  const auto got = call(
      "PATCH", std::string(kBoxes) + "/box",
      R"({"name":"new","idle_ttl_seconds":0,"run_config":{"user":"user","env_vars":{"A":"1"}}})");
  ASSERT_EQ(got->status, 200) << got->answer_body;
  EXPECT_EQ(got->subject, "name: new; idle_ttl_s: 0; user: user; env 1: A");
  EXPECT_EQ(json(got).at("id"), box.at("id"));
  EXPECT_EQ(json(got).at("idle_ttl_seconds").as_int64(), 0);
  EXPECT_EQ(json(got).at("run_config").at("env_vars").at("A").as_string(), "1");
  EXPECT_EQ(call("GET", std::string(kBoxes) + "/box")->status, 404);
  make_box("other");
  EXPECT_EQ(call("PATCH", std::string(kBoxes) + "/new", R"({"name":"other"})")->status, 409);
  EXPECT_EQ(field_of(call("PATCH", std::string(kBoxes) + "/new", R"({"name":"-"})")), "name");
}

TEST_F(LangsmithTest, APausedOneReadsStoppedAndStartResumesIt) {
  make_box();
  const std::string one = std::string(kBoxes) + "/box";
  const Principal who = exchange("GET", kBoxes)->principal();
  ASSERT_TRUE(core::testing::run<Sandbox>(loop, cay->sandboxes().pause(who, "box")));
  const auto status = json(call("GET", one + "/status"));
  EXPECT_EQ(status.at("status").as_string(), "stopped");
  EXPECT_NE(std::string(status.at("status_message").as_string()).find("paused"), std::string::npos);
  const auto started = call("POST", one + "/start", "{}");
  EXPECT_EQ(started->status, 200);
  EXPECT_EQ(json(started).at("status").as_string(), "ready");
}

TEST_F(LangsmithTest, OldClientsTtlIsALifetime) {
  const auto made = call("POST", kBoxes, R"({"name":"old","ttl_seconds":3600})");
  ASSERT_EQ(made->status, 201) << made->answer_body;
  const Principal who = exchange("GET", kBoxes)->principal();
  EXPECT_EQ(core::testing::run<Sandbox>(loop, cay->sandboxes().get(who, "old"))->lifetime_s, 3600);
}

TEST_F(LangsmithTest, StopStartStatusDelete) {
  const auto box = make_box();
  const std::string one = std::string(kBoxes) + "/box";
  EXPECT_EQ(call("POST", one + "/stop", "{}")->status, 204);
  EXPECT_EQ(json(call("GET", one + "/status")).at("status").as_string(), "stopped");
  EXPECT_EQ(json(call("GET", one)).at("dataplane_url"), box.at("dataplane_url"));
  EXPECT_EQ(call("POST", one + "/stop", "{}")->status, 204);
  EXPECT_EQ(call("POST", one + "/start", "{}")->status, 202);
  settle();
  EXPECT_EQ(call("GET", one + "/status")->answer_body,
            R"({"status":"ready","status_message":null})");
  EXPECT_EQ(call("POST", one + "/start", "{}")->status, 200);
  EXPECT_EQ(call("DELETE", one)->status, 204);
  EXPECT_EQ(type_of(call("DELETE", one)), "NotFound");
}

TEST_F(LangsmithTest, RefusalsAtCreation) {
  const auto create = [this](const std::string& body) { return call("POST", kBoxes, body); };
  EXPECT_EQ(field_of(create(R"({"vcpus":0})")), "vcpus");
  EXPECT_EQ(field_of(create(R"({"mem_bytes":1})")), "mem_bytes");
  EXPECT_EQ(field_of(create(R"({"fs_capacity_bytes":1})")), "fs_capacity_bytes");
  EXPECT_EQ(create(R"({"mem_bytes":1180591620717411303424})")->answer_body.find("integer"),
            std::string::npos);
  EXPECT_EQ(field_of(create(R"({"idle_ttl_seconds":61})")), "idle_ttl_seconds");
  EXPECT_EQ(field_of(create(R"({"name":"-bad-"})")), "name");
  EXPECT_EQ(field_of(create(R"({"run_config":{"work_dir":"relative"}})")), "work_dir");
  EXPECT_EQ(field_of(create(R"({"proxy_config":{"rules":[{"name":"a"}]}})")), "rules");
  EXPECT_NE(create(R"({"proxy_config":{"rules":[{"name":"a"}],"no_proxy":["a"]}})")
                ->answer_body.find("proxy_config.rules is not built"),
            std::string::npos);
  EXPECT_EQ(field_of(create(R"({"mount_config":{"mounts":[{"id":"a"}]}})")), "mounts");
  EXPECT_EQ(field_of(create(R"({"preserve_memory_on_stop":true})")), "preserve_memory_on_stop");
  EXPECT_EQ(create(R"({"mounts":[]})")->status, 400);
  EXPECT_EQ(create("{")->status, 400);
  EXPECT_EQ(create(R"({"snapshot_name":"none"})")->status, 400);
  EXPECT_EQ(create(R"({"snapshot_name":"a","snapshot_id":"b"})")->status, 400);
  const auto quota = create(R"({"mem_bytes":10995116277760})");
  EXPECT_EQ(quota->status, 429);
  EXPECT_NE(quota->answer_body.find("memory: 10995116277760 bytes were requested"),
            std::string::npos);
  EXPECT_NE(quota->answer_body.find("ask for less"), std::string::npos);
  EXPECT_TRUE(store.rows.empty());
  EXPECT_EQ(
      create(
          R"({"unknown_member":1,"proxy_config":{"no_proxy":["localhost"]},"mount_config":null})")
          ->status,
      201)
      << "it is ignored there, too";
  make_box();
  EXPECT_EQ(create(R"({"name":"box"})")->status, 409);
}

TEST_F(LangsmithTest, AccessControlIsAPolicyOrIsRefused) {
  const auto create = [this](const std::string& access) {
    return call("POST", kBoxes, R"({"proxy_config":{"access_control":)" + access + "}}");
  };
  const auto policy = [&](const std::string& access) {
    const auto got = create(access);
    EXPECT_EQ(got->status, 201) << access << got->answer_body;
    return store.rows.at(SandboxId(std::string(json(got).at("id").as_string()))).policy;
  };
  EXPECT_EQ(policy(R"({"allow_list":[]})"), "off");
  EXPECT_EQ(policy(R"({"deny_list":[]})"), "open");
  EXPECT_EQ(policy("{}"), "packages");
  EXPECT_EQ(policy("null"), "packages");
  const auto shown = json(create(R"({"allow_list":[]})"));
  EXPECT_TRUE(shown.at("proxy_config")
                  .as_object()
                  .at("access_control")
                  .as_object()
                  .at("allow_list")
                  .as_array()
                  .empty());
  const std::size_t before = store.rows.size();
  for (const char* access :
       {R"({"allow_list":["a b"]})", R"({"allow_list":["open"]})", R"({"allow_list":["*"]})",
        R"({"deny_list":["!evil.example"]})", R"({"deny_list":["~("]})", R"({"allow_list":[1]})",
        R"({"allow_list":[],"deny_list":[]})", R"({"allow_list":[],"mode":"strict"})",
        R"({"allow_list":"none"})", "[1]", R"("off")"}) {
    EXPECT_EQ(create(access)->status, 422) << access;
  }
  EXPECT_EQ(store.rows.size(), before);
}

TEST_F(LangsmithTest, AListIsAPolicyOfItsOwnAndIsChangedLive) {
  make_box();
  const auto patched = [this](const std::string& access) {
    const auto got = call("PATCH", std::string(kBoxes) + "/box",
                          R"({"proxy_config":{"access_control":)" + access + "}}");
    EXPECT_EQ(got->status, 200) << access << got->answer_body;
    EXPECT_TRUE(got->subject.starts_with("policy: ")) << got->subject;
    return json(got);
  };
  const auto rules = [this] { return store.rows.begin()->second.rules; };
  const auto listed = [](const codec::json::object& box, const char* name) {
    std::vector<std::string> out;
    for (const auto& one :
         box.at("proxy_config").as_object().at("access_control").as_object().at(name).as_array())
      out.emplace_back(one.as_string());
    return out;
  };
  const auto allowed =
      patched(R"({"allow_list":["PyPI.org","*.example.com","10.1.0.0/16","192.0.2.7:5432",)"
              R"("~api[0-9]+\\.test","db"]})");
  EXPECT_EQ(
      rules(),
      "pypi.org\n*.example.com\n10.1.0.0/16\n192.0.2.7:5432\n~api[0-9]+\\.test\ndb:443\ndb:80");
  EXPECT_EQ(listed(allowed, "allow_list").size(), 7U);
  EXPECT_EQ(runtime.policies.begin()->second.second, rules()) << "at once";
  const auto denied = patched(R"({"deny_list":["evil.example","~ads[.]","db"]})");
  EXPECT_EQ(rules(), "default allow\n!evil.example\n!~.*(?:ads[.]).*\n!db:*");
  EXPECT_EQ(listed(denied, "deny_list"),
            (std::vector<std::string>{"evil.example", "~ads[.]", "db:*"}));
  patched(R"({"allow_list":[]})");
  EXPECT_EQ(store.rows.begin()->second.policy, "off");
}

TEST_F(LangsmithTest, FailuresAtCreation) {
  runtime.boot_error = Error{Code::kUnavailable, "launcher_gone", "the launcher is not there", 0};
  const auto got = call("POST", kBoxes, "{}");
  EXPECT_EQ(got->status, 503);
  EXPECT_EQ(type_of(got), "Unschedulable");
  runtime.boot_error.reset();
  runtime.hold_boots = true;
  auto waiting = begin(exchange("POST", kBoxes, R"({"timeout":1})"));
  EXPECT_TRUE(core::testing::finish<void>(loop, *waiting.started));
  EXPECT_EQ(waiting.exchange->status, 408);
  runtime.release_boots();
  settle();
  EXPECT_TRUE(store.rows.empty());
}

TEST_F(LangsmithTest, WithoutWaitingItProvisions) {
  runtime.hold_boots = true;
  const auto got = call("POST", kBoxes, R"({"wait_for_ready":false,"name":"box"})");
  EXPECT_EQ(got->status, 201);
  EXPECT_EQ(json(got).at("status").as_string(), "provisioning");
  EXPECT_FALSE(json(got).at("dataplane_url").as_string().empty());
  runtime.release_boots();
  settle();
  EXPECT_EQ(json(call("GET", std::string(kBoxes) + "/box/status")).at("status").as_string(),
            "ready");
}

TEST_F(LangsmithTest, ListStyles) {
  for (const auto* name : {"a", "b", "c"}) make_box(name);
  const auto list = [this](const std::string& query) {
    return call("GET", std::string(kBoxes) + query);
  };
  EXPECT_EQ(json(list("")).at("items").as_array().size(), 3u);
  const auto page = json(list("?page_size=2"));
  EXPECT_EQ(page.at("items").as_array().size(), 2u);
  const std::string cursor(page.at("next_cursor").as_string());
  EXPECT_EQ(json(list("?page_size=2&cursor=" + cursor)).at("items").as_array().size(), 1u);
  const auto old = json(list("?limit=2&sort_by=name&sort_direction=asc"));
  EXPECT_EQ(old.at("offset").as_int64(), 2);
  EXPECT_EQ(old.at("items").at(0).at("name").as_string(), "a");
  EXPECT_EQ(json(list("?created_by=me&label=x")).at("items").as_array().size(), 0u);
  EXPECT_EQ(list("?limit=501")->status, 422);
  EXPECT_EQ(list("?sort_by=x")->status, 422);
  EXPECT_EQ(list("?page_size=101")->status, 400);
  EXPECT_EQ(list("?page_size=1&limit=1")->status, 400);
  EXPECT_EQ(list("?cursor=x")->status, 400);
}

TEST_F(LangsmithTest, SnapshotsUsageAndTheRest) {
  make_box();
  const auto snapshots = json(call("GET", "/v2/sandboxes/snapshots"));
  ASSERT_EQ(snapshots.at("snapshots").as_array().size(), 1u);
  const std::string name(snapshots.at("snapshots").at(0).at("name").as_string());
  EXPECT_EQ(call("GET", "/v2/sandboxes/snapshots/" + name)->status, 200);
  EXPECT_EQ(call("GET", "/v2/sandboxes/snapshots/" + name + ":latest")->status, 200);
  EXPECT_EQ(call("GET", "/v2/sandboxes/snapshots/none")->status, 404);
  EXPECT_EQ(json(call("GET", "/v2/sandboxes/usage")).at("sandboxes_used").as_int64(), 1);
  EXPECT_EQ(json(call("GET", "/v2/sandboxes/registries")).at("registries").as_array().size(), 0u);
  const auto deleting =
      call("POST", std::string(kBoxes) + "/batch-delete", R"({"names":["box","none"]})");
  EXPECT_EQ(deleting->subject, "deleted 1: box");
  const auto gone = json(deleting);
  EXPECT_EQ(gone.at("deleted").as_array().size(), 1u);
  EXPECT_EQ(gone.at("skipped").at(0).at("name").as_string(), "none");
  EXPECT_EQ(field_of(call("POST", "/v2/sandboxes/registries", "{}")), "name");
}

TEST_F(LangsmithTest, TracesAreNotOurs) {
  const auto got = call("POST", "/runs/batch", "{}");
  EXPECT_EQ(got->status, 404);
  EXPECT_NE(got->answer_body.find("[langsmith] upstream"), std::string::npos);
  http::Router forwarding;
  LangsmithConfig config;
  config.forward = [](ExchangePtr exchange, Passing) {
    return exchange->respond(empty_answer(202));
  };
  add_langsmith_routes(forwarding, *cay, std::move(config));
  std::swap(router, forwarding);
  EXPECT_EQ(call("POST", "/api/v1/runs/multipart", "x")->status, 202);
  std::swap(router, forwarding);
}

TEST_F(LangsmithTest, InfoSaysHowTheUpstreamTakesRunsIn) {
  EXPECT_FALSE(json(call("GET", "/info")).contains("batch_ingest_config")) << "without one";
  http::Router forwarding;
  LangsmithConfig config;
  config.ingestion = []() -> asio::awaitable<codec::json::object> {
    co_return codec::json::object{
        {"batch_ingest_config", codec::json::object{{"size_limit", 7}}},
        {"instance_flags", codec::json::object{{"zstd_compression_enabled", true}}}};
  };
  add_langsmith_routes(forwarding, *cay, std::move(config));
  std::swap(router, forwarding);
  for (const auto* path : {"/info", "/api/info", "/api/v1/info"}) {
    const auto got = json(call("GET", path));
    EXPECT_EQ(got.at("version").as_string(), "0.16.0")
        << "of the sandbox routes, which are Cay's own";
    EXPECT_EQ(got.at("batch_ingest_config").at("size_limit").as_int64(), 7);
    EXPECT_TRUE(got.at("instance_flags").at("zstd_compression_enabled").as_bool());
  }
  std::swap(router, forwarding);
}

TEST_F(LangsmithTest, ErrorsBeforeAHandlerAreInTheEnvelope) {
  const auto handle = exchange("GET", "/api/v2/sandboxes/boxes");
  const auto response = router.shape(handle->request, 401,
                                     Error{Code::kUnauthenticated, "no_key", "send X-Api-Key", 0});
  EXPECT_EQ(response.status, 401);
  EXPECT_EQ(codec::parse_object(response.body)->at("detail").at("error").as_string(),
            "Unauthorized");
}

}  // namespace
}  // namespace cay::api::langsmith
