#include "api/native/native_test.h"

namespace cay::api {
namespace {

class NativeSnapshotsTest : public NativeTest {
 protected:
  NativeSnapshotsTest() {
    images.images["python:3.12"] = images.image_of({{"bin/sh", "shell"}, {"x", "3.12"}});
  }
  static constexpr const char* kAll = "/api/v1/snapshots";
  static std::string one(const std::string& ref) { return std::string(kAll) + "/" + ref; }
};

TEST_F(NativeSnapshotsTest, AnImageIsPulledAndBooted) {
  const auto made =
      call("POST", std::string(kAll) + "?wait=5",
           R"({"image":"python:3.12","login":{"username":"me","password":"pw"},"env":{"A":"1"}})");
  ASSERT_EQ(made->status, 201) << made->answer_body;
  EXPECT_EQ(made->subject, "snapshot from python:3.12");
  EXPECT_EQ(made->answer_body.find("pw"), std::string::npos);
  EXPECT_EQ(json(made).at("status").as_string(), "ready");
  EXPECT_EQ(json(made).at("used_bytes").to_number<int>(), 9);
  EXPECT_EQ(images.pulls.back().login.password, "pw");
  EXPECT_EQ(json(call("GET", one("python:3.12"))).at("id"), json(made).at("id"));
  EXPECT_EQ(json(call("GET", kAll)).at("items").as_array().size(), 2U);
  const auto box = call("POST", "/api/v1/sandboxes", R"({"image":"python:3.12","name":"box"})");
  ASSERT_EQ(box->status, 201) << box->answer_body;
  EXPECT_EQ(json(box).at("snapshot_id"), json(made).at("id"));
  EXPECT_EQ(json(box).at("env").at("A").as_string(), "1");
  EXPECT_EQ(images.pulls.size(), 1U);
  EXPECT_EQ(call("DELETE", one("python:3.12"))->status, 204);
  EXPECT_EQ(call("GET", one("python:3.12"))->status, 404);
  EXPECT_EQ(reason_of(call("POST", "/api/v1/sandboxes", R"({"image":"a","snapshot":"b"})")),
            "invalid_field");
  EXPECT_EQ(reason_of(call("POST", kAll, "{}")), "invalid_field");
  EXPECT_EQ(reason_of(call("POST", std::string(kAll) + "?wait=x", R"({"image":"x"})")),
            "invalid_query");
}

TEST_F(NativeSnapshotsTest, ACaptureIsTaggedPushedAndRolledBackTo) {
  const LayerId host(runtime.default_snapshot.id.get());
  runtime.fake_layers.sealed[host].layer.id = host;
  const std::string box = make_box();
  const auto made = call("POST", box + "/snapshot?wait=5", R"({"name":"team/app","built":true})");
  ASSERT_EQ(made->status, 201) << made->answer_body;
  EXPECT_EQ(json(made).at("origin").as_string(), "build");
  const auto tagged = call("POST", one("team%2Fapp/tag"), R"({"tag":"1"})");
  ASSERT_EQ(tagged->status, 200) << tagged->answer_body;
  EXPECT_EQ(json(tagged).at("tags").as_array().size(), 2U);
  EXPECT_EQ(call("GET", one("team%2Fapp:1/push"))->status, 404);
  const auto pushed =
      call("POST", one("team%2Fapp/push?wait=5"), R"({"reference":"localhost:5000/x"})");
  ASSERT_EQ(pushed->status, 200) << pushed->answer_body;
  EXPECT_EQ(json(pushed).at("state").as_string(), "pushed");
  EXPECT_EQ(json(call("GET", one("team%2Fapp/push"))).at("digest").as_string(), "sha256:pushed");
  const auto back = call("POST", box + "/rollback", R"({"snapshot":"team/app"})");
  ASSERT_EQ(back->status, 200) << back->answer_body;
  EXPECT_EQ(json(back).at("snapshot").as_string(), "team/app");
  EXPECT_EQ(json(back).at("state").as_string(), "ready");
  EXPECT_EQ(call("POST", box + "/rollback")->status, 200);
  EXPECT_EQ(call("POST", box + "/snapshot", "{}")->status, 400);
}

TEST_F(NativeSnapshotsTest, AnArchiveComesAsTheBody) {
  images.archive = images.image_of({{"a", "1"}});
  const auto made =
      call("POST", std::string(kAll) + "/archive?name=mine&tag=2&wait=5", "an archive");
  ASSERT_EQ(made->status, 201) << made->answer_body;
  EXPECT_EQ(json(made).at("status").as_string(), "ready");
  EXPECT_EQ(json(call("GET", one("mine:2"))).at("origin").as_string(), "archive");
  EXPECT_EQ(reason_of(call("POST", std::string(kAll) + "/archive", "x")), "invalid_name");
  images.archive.reset();
  EXPECT_EQ(reason_of(call("POST", std::string(kAll) + "/archive?name=other", "x")), "bad_image");
}

TEST_F(NativeSnapshotsTest, ForksAreListed) {
  const std::string box = make_box();
  const auto made = call("POST", box + "/fork", R"({"names":["a","b"]})");
  ASSERT_EQ(made->status, 201) << made->answer_body;
  EXPECT_EQ(made->subject, "forks: a, b");
  EXPECT_EQ(json(made).at("items").as_array().size(), 2U);
  EXPECT_EQ(json(call("POST", box + "/fork")).at("items").as_array().size(), 1U);
  EXPECT_EQ(call("POST", box + "/fork", R"({"names":["a"]})")->status, 409);
  EXPECT_EQ(call("POST", box + "/fork", R"({"count":0})")->status, 400);
}

}  // namespace
}  // namespace cay::api
