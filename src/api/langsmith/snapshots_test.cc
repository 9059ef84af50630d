#include "api/langsmith/langsmith_test.h"

namespace cay::api::langsmith {
namespace {

class LangsmithSnapshotsTest : public LangsmithTest {
 protected:
  LangsmithSnapshotsTest() {
    images.images["python:3.12"] = images.image_of({{"bin/sh", "shell"}});
    images.images["python:3.12"].facts.config.run.user = "app";
  }
  static constexpr const char* kAll = "/v2/sandboxes/snapshots";
  static std::string one(const std::string& ref) { return std::string(kAll) + "/" + ref; }
};

TEST_F(LangsmithSnapshotsTest, AnImageIsBuiltAsTheClientsSendIt) {
  const auto made =
      call("POST", kAll,
           R"({"name":"py","docker_image":"python:3.12","fs_capacity_bytes":1073741824,
                             "run_config":{"work_dir":"/srv","env_vars":{"A":"1"}}})");
  ASSERT_EQ(made->status, 201) << made->answer_body;
  EXPECT_EQ(json(made).at("status").as_string(), "building");
  settle();
  const auto ready = json(call("GET", one(std::string(json(made).at("id").as_string()))));
  EXPECT_EQ(ready.at("status").as_string(), "ready");
  EXPECT_TRUE(ready.at("status_message").is_null());
  EXPECT_EQ(ready.at("tags").at(0).as_string(), "3.12");
  EXPECT_EQ(ready.at("docker_image").as_string(), "python:3.12");
  EXPECT_EQ(ready.at("image_digest").as_string(), "sha256:manifest");
  EXPECT_EQ(ready.at("fs_capacity_bytes").to_number<int>(), 1 << 30);
  EXPECT_EQ(ready.at("run_config").at("user").as_string(), "app");
  EXPECT_EQ(ready.at("run_config").at("work_dir").as_string(), "/srv");
  const auto box =
      call("POST", kBoxes, R"({"name":"box","snapshot":"py:3.12","wait_for_ready":true})");
  ASSERT_EQ(box->status, 201) << box->answer_body;
  EXPECT_EQ(json(box).at("snapshot_id"), ready.at("id"));
  EXPECT_EQ(json(box).at("fs_capacity_bytes").to_number<int>(), 1 << 30);
  const auto tags = json(call("GET", "/v2/sandboxes/snapshots-by-name/py"));
  EXPECT_EQ(tags.at("tags").at(0).at("snapshot_id"), ready.at("id"));
  EXPECT_EQ(call("GET", "/v2/sandboxes/snapshots-by-name/none")->status, 404);
  EXPECT_EQ(json(call("GET", std::string(kAll) + "?name_contains=py&limit=5"))
                .at("snapshots")
                .as_array()
                .size(),
            1U);
  EXPECT_EQ(call("DELETE", one("py:3.12"))->status, 204);
  EXPECT_EQ(call("GET", one("py:3.12"))->status, 404);
  EXPECT_EQ(call("GET", std::string(kBoxes) + "/box")->status, 200);
}

TEST_F(LangsmithSnapshotsTest, AFailedPullSaysWhy) {
  const auto made = call("POST", kAll, R"({"name":"x","docker_image":"none"})");
  ASSERT_EQ(made->status, 201) << made->answer_body;
  settle();
  const auto failed = json(call("GET", one(std::string(json(made).at("id").as_string()))));
  EXPECT_EQ(failed.at("status").as_string(), "failed");
  EXPECT_NE(std::string(failed.at("status_message").as_string()).find("no image none"),
            std::string::npos);
}

TEST_F(LangsmithSnapshotsTest, OlderClientsGiveTheRegistryBesideTheImage) {
  images.images["r.test:5000/x:1"] = images.images["python:3.12"];
  const auto made =
      call("POST", kAll,
           R"({"name":"x","docker_image":"x:1","registry_url":"https://r.test:5000/v2",
                             "registry_username":"me","registry_password":"pw"})");
  ASSERT_EQ(made->status, 201) << made->answer_body;
  settle();
  EXPECT_EQ(images.pulls.back().reference, "r.test:5000/x:1");
  EXPECT_EQ(images.pulls.back().login.password, "pw");
}

TEST_F(LangsmithSnapshotsTest, ABoxIsCaptured) {
  const auto box = make_box();
  const std::string capture = std::string(kBoxes) + "/box/snapshot";
  const auto made = call("POST", capture, R"({"name":"mine","tag":"v1","labels":{"a":"b"}})");
  ASSERT_EQ(made->status, 201) << made->answer_body;
  settle();
  const auto ready = json(call("GET", one("mine:v1")));
  EXPECT_EQ(ready.at("id"), json(made).at("id"));
  EXPECT_EQ(ready.at("status").as_string(), "ready");
  EXPECT_EQ(ready.at("source_sandbox_id"), box.at("id"));
  EXPECT_EQ(ready.at("labels").at("a").as_string(), "b");
  EXPECT_EQ(field_of(call("POST", capture, "{}")), "name");
  EXPECT_EQ(field_of(call("POST", capture, R"({"name":"x","include_memory":true})")),
            "include_memory");
  EXPECT_EQ(field_of(call("POST", capture, R"({"name":"x","docker_image":"y"})")), "docker_image");
  EXPECT_EQ(field_of(call("POST", capture, R"({"name":"a:b"})")), "name");
  EXPECT_EQ(call("POST", std::string(kBoxes) + "/none/snapshot", R"({"name":"x"})")->status, 404);
  EXPECT_EQ(field_of(call("POST", kAll, R"({"name":"x"})")), "docker_image");
  EXPECT_EQ(call("POST", kAll, R"({"name":"x","docker_image":"y","registry_id":"r"})")->status,
            404);
  EXPECT_EQ(type_of(call("POST", kAll, R"({"name":"x","docker_image":"a b"})")), "InvalidRequest");
}

}  // namespace
}  // namespace cay::api::langsmith
