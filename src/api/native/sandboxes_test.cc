#include "api/native/native_test.h"
#include "api/testing/gzip.h"

namespace cay::api {
namespace {

TEST_F(NativeTest, CreateGetUpdateDelete) {
  const auto made =
      call("POST", "/api/v1/sandboxes",
           R"({"name":"box","labels":{"team":"a"},"limits":{"cpu_millicores":500},"env":{"A":"1"},)"
           R"("user":"user"})");
  ASSERT_EQ(made->status, 201) << made->answer_body;
  const auto box = json(made);
  EXPECT_EQ(box.at("state").as_string(), "ready");
  EXPECT_EQ(box.at("limits").at("cpu_millicores").as_int64(), 500);
  EXPECT_EQ(box.at("env").at("A").as_string(), "1");
  const std::string id(box.at("id").as_string());
  EXPECT_EQ(json(call("GET", "/api/v1/sandboxes/" + id)).at("name").as_string(), "box");
  const auto patched = call("PATCH", "/api/v1/sandboxes/box",
                            R"({"name":"new","labels":{"x":"y"},"env":{"B":"2"}})");
  ASSERT_EQ(patched->status, 200) << patched->answer_body;
  EXPECT_EQ(json(patched).at("env").as_object().size(), 2u);
  EXPECT_EQ(call("GET", "/api/v1/sandboxes/box")->status, 404);
  EXPECT_EQ(call("DELETE", "/api/v1/sandboxes/new")->status, 204);
  EXPECT_EQ(call("DELETE", "/api/v1/sandboxes/new")->status, 404);
}

TEST_F(NativeTest, CreateWithoutBodyTakesEveryDefault) {
  const auto made = call("POST", "/api/v1/sandboxes");
  ASSERT_EQ(made->status, 201) << made->answer_body;
  EXPECT_FALSE(json(made).at("name").as_string().empty());
}

TEST_F(NativeTest, BadCreatesMakeNothing) {
  for (const auto* bad :
       {"{", "[]", R"({"name":7})", R"({"nome":"x"})", R"({"limits":{"pids":-1}})",
        R"({"env":{"A":1}})", R"({"idle_ttl_s":-2})", R"({"name":"-x"})", R"({"timeout_s":"5"})"}) {
    const auto got = call("POST", "/api/v1/sandboxes", bad);
    EXPECT_EQ(got->status, 400) << bad << got->answer_body;
    EXPECT_FALSE(json(got).at("error").at("error_id").as_string().empty());
  }
  EXPECT_EQ(call("POST", "/api/v1/sandboxes", std::string(2 << 20, ' '))->status, 413);
  EXPECT_TRUE(store.rows.empty());
}

TEST_F(NativeTest, ACompressedRequestIsTakenAndABombRefused) {
  const auto compressed = [this](const std::string& body) {
    auto handle = exchange("POST", "/api/v1/sandboxes", testing::gzip(body));
    handle->request.headers.add("Content-Encoding", "gzip");
    return serve(handle);
  };
  EXPECT_EQ(compressed(std::string(64 << 20, ' '))->status, 413);
  EXPECT_TRUE(store.rows.empty());
  const auto made = compressed(R"({"name":"box"})");
  ASSERT_EQ(made->status, 201) << made->answer_body;
  EXPECT_EQ(json(made).at("name").as_string(), "box");
}

TEST_F(NativeTest, NameInUse) {
  make_box();
  const auto got = call("POST", "/api/v1/sandboxes", R"({"name":"box"})");
  EXPECT_EQ(got->status, 409);
  EXPECT_EQ(reason_of(got), "name_in_use");
}

TEST_F(NativeTest, ABrokenHostIsOurFault) {
  runtime.boot_error = Error{Code::kInternal, "mount_failed", "mount rootfs: EPERM", 0};
  const auto got = call("POST", "/api/v1/sandboxes", R"({"name":"box"})");
  EXPECT_EQ(got->status, 500);
  EXPECT_EQ(reason_of(got), "mount_failed");
}

TEST_F(NativeTest, StopAndStart) {
  const std::string box = make_box();
  const auto stopped = call("POST", box + "/stop");
  EXPECT_EQ(stopped->status, 200);
  EXPECT_EQ(json(stopped).at("state").as_string(), "stopped");
  EXPECT_EQ(call("POST", box + "/start")->status, 202);
  settle();
  EXPECT_EQ(call("POST", box + "/start")->status, 200);
  EXPECT_EQ(call("GET", box + "/stats")->status, 200);
}

TEST_F(NativeTest, PauseAndResume) {
  const std::string box = make_box();
  EXPECT_EQ(json(call("POST", box + "/pause")).at("state").as_string(), "paused");
  EXPECT_TRUE(json(call("GET", box + "/stats")).at("paused").as_bool());
  const auto refused = call("POST", box + "/commands", R"({"argv":["true"]})");
  EXPECT_EQ(refused->status, 409);
  EXPECT_EQ(reason_of(refused), "sandbox_paused");
  EXPECT_EQ(json(call("GET", "/api/v1/sandboxes?state=paused")).at("items").as_array().size(), 1u);
  EXPECT_EQ(json(call("POST", box + "/resume")).at("state").as_string(), "ready");
  ASSERT_EQ(call("POST", box + "/stop")->status, 200);
  EXPECT_EQ(call("POST", box + "/pause")->status, 409);
}

TEST_F(NativeTest, TimersAreTakenMinusOneForNever) {
  const auto made = call(
      "POST", "/api/v1/sandboxes",
      R"({"idle_ttl_s":-1,"delete_after_stop_s":-1,"lifetime_s":60,"commands_keep_awake":true})");
  ASSERT_EQ(made->status, 201) << made->answer_body;
  EXPECT_EQ(json(made).at("idle_ttl_s"), 0);
  EXPECT_EQ(json(made).at("delete_after_stop_s"), 0);
  EXPECT_EQ(json(made).at("lifetime_s"), 60);
  EXPECT_TRUE(json(made).at("commands_keep_awake").as_bool());
  const std::string box = "/api/v1/sandboxes/" + std::string(json(made).at("id").as_string());
  const auto changed = call("PATCH", box, R"({"lifetime_s":-1,"commands_keep_awake":false})");
  EXPECT_EQ(json(changed).at("lifetime_s"), 0);
  EXPECT_FALSE(json(changed).at("commands_keep_awake").as_bool());
}

TEST_F(NativeTest, ListsInPagesWithFilters) {
  for (const auto* name : {"a1", "a2", "a3", "b1"}) make_box(name);
  call("PATCH", "/api/v1/sandboxes/a2", R"({"labels":{"k":"v"}})");
  EXPECT_EQ(json(call("GET", "/api/v1/sandboxes")).at("items").as_array().size(), 4u);
  EXPECT_EQ(json(call("GET", "/api/v1/sandboxes?label=k%3Dv")).at("items").as_array().size(), 1u);
  EXPECT_EQ(json(call("GET", "/api/v1/sandboxes?label=k&label=z")).at("items").as_array().size(),
            0u);
  EXPECT_EQ(json(call("GET", "/api/v1/sandboxes?state=stopped")).at("items").as_array().size(), 0u);
  const std::string first = "/api/v1/sandboxes?name_contains=A&sort=name&limit=2";
  const auto page = json(call("GET", first));
  ASSERT_EQ(page.at("items").as_array().size(), 2u);
  EXPECT_EQ(page.at("items").at(0).at("name").as_string(), "a1");
  const std::string cursor(page.at("next_cursor").as_string());
  const auto rest = json(call("GET", first + "&cursor=" + cursor));
  ASSERT_EQ(rest.at("items").as_array().size(), 1u);
  EXPECT_TRUE(rest.at("next_cursor").is_null());
  EXPECT_EQ(call("GET", "/api/v1/sandboxes?cursor=" + cursor)->status, 400);
  for (const auto* bad :
       {"state=x", "sort=x", "limit=0", "limit=501", "label=%3Dv", "cursor=zzz"}) {
    EXPECT_EQ(call("GET", "/api/v1/sandboxes?" + std::string(bad))->status, 400) << bad;
  }
}

TEST_F(NativeTest, EnsureMakesOnceAndFindsAfterwards) {
  const std::string route = "/api/v1/sandboxes/ensure";
  const auto made = call("POST", route, R"({"claim":"thread:1","name":"box"})");
  ASSERT_EQ(made->status, 201) << made->answer_body;
  EXPECT_TRUE(json(made).at("created").as_bool());
  EXPECT_EQ(json(made).at("claim").as_string(), "thread:1");
  EXPECT_EQ(made->subject, "sandbox box");
  const auto found = call("POST", route, R"({"claim":"thread:1","name":"other"})");
  ASSERT_EQ(found->status, 200) << found->answer_body;
  EXPECT_FALSE(json(found).at("created").as_bool());
  EXPECT_EQ(json(found).at("id"), json(made).at("id"));
  EXPECT_EQ(found->subject, "found: sandbox box");
  const auto other = call("POST", route, R"({"claim":"thread:2","wait":false})");
  EXPECT_EQ(other->status, 201);
  settle();
  const auto listed = json(call("GET", "/api/v1/sandboxes?claim=thread:1")).at("items");
  ASSERT_EQ(listed.as_array().size(), 1u);
  EXPECT_EQ(listed.at(0).at("id"), json(made).at("id"));
  EXPECT_EQ(json(call("GET", "/api/v1/sandboxes/box")).at("claim").as_string(), "thread:1");
  for (const auto* bad : {"{}", R"({"claim":7})", R"({"claim":""})", R"({"claim":"a\nb"})",
                          R"({"claim":"x","nome":"y"})"}) {
    EXPECT_EQ(call("POST", route, bad)->status, 400) << bad;
  }
  EXPECT_EQ(call("POST", "/api/v1/sandboxes", R"({"claim":"x"})")->status, 400);
  EXPECT_EQ(call("PATCH", "/api/v1/sandboxes/box", R"({"claim":"x"})")->status, 400);
}

TEST_F(NativeTest, BatchDelete) {
  make_box("a");
  make_box("b");
  runtime.hold_stops = true;
  const auto running =
      begin(exchange("POST", "/api/v1/sandboxes/batch-delete", R"({"refs":["a","nope"]})"));
  settle();
  const auto got = running.exchange;
  EXPECT_EQ(got->subject, "asked to delete 2: a, nope") << "on record though its caller leaves now";
  runtime.release_stops();
  settle();
  EXPECT_EQ(got->subject, "deleted 1: a");
  ASSERT_EQ(got->status, 200);
  EXPECT_EQ(json(got).at("deleted").as_array().size(), 1u);
  EXPECT_EQ(json(got).at("failed").at(0).at("error").at("code").as_string(), "not_found");
  EXPECT_EQ(call("POST", "/api/v1/sandboxes/batch-delete", "{}")->status, 400);
}

// The audit log has the change where the path does not show it.
TEST_F(NativeTest, WhatIsAskedForIsOnRecord) {
  const auto made = call("POST", "/api/v1/sandboxes", R"({"policy":"off"})");
  EXPECT_EQ(made->subject,
            "sandbox " + std::string(json(made).at("name").as_string()) + "; policy: off");
  const std::string box = make_box();
  EXPECT_EQ(call("POST", "/api/v1/sandboxes", R"({"name":"box","policy":"off"})")->subject,
            "sandbox box; policy: off")
      << "a refused one as well";
  EXPECT_EQ(
      call("PATCH", box, R"({"rules":["a.test","!b.a.test"],"labels":{"team":"red"}})")->subject,
      "policy: a.test, !b.a.test; labels 1: team");
  EXPECT_EQ(call("PATCH", box, R"({"policy":"no such policy"})")->subject,
            "policy: no such policy");
  EXPECT_EQ(call("PUT", "/api/v1/secrets/k", R"({"sealed":"Ym94","hosts":["a.test","*.b.test"]})")
                ->subject,
            "version 1; hosts 2: a.test, *.b.test");
  EXPECT_EQ(call("PUT", "/api/v1/secrets/k", R"({"sealed":"Ym94"})")->subject,
            "version 2; hosts 2: a.test, *.b.test");
  const auto ruled =
      call("PATCH", box,
           R"({"proxy":[{"name":"r","secret":"k","way":"headers","headers":[{"name":"X-Key",)"
           R"("value":"in-clear ${SECRET}"}]}]})");
  ASSERT_EQ(ruled->status, 200) << ruled->answer_body;
  EXPECT_EQ(ruled->subject, "proxy 1: r with secret k");
  EXPECT_EQ(call("DELETE", "/api/v1/secrets/k")->subject, "used by 1: box");
  EXPECT_EQ(call("POST", "/api/v1/drain", R"({"draining":false})")->subject, "no drain");
}

TEST_F(NativeTest, ErrorsBeforeAHandlerHaveTheSameShape) {
  const auto handle = exchange("GET", "/nowhere");
  const auto response =
      router.shape(handle->request, 404, Error{Code::kNotFound, "no_route", "no such path", 0});
  EXPECT_EQ(response.status, 404);
  EXPECT_EQ(codec::parse_object(response.body)->at("error").at("reason").as_string(), "no_route");
}

}  // namespace
}  // namespace cay::api
