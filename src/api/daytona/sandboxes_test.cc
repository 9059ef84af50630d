#include "api/daytona/daytona_test.h"

namespace cay::api::daytona {
namespace {

class SandboxesTest : public DaytonaTest {
 protected:
  static constexpr const char* kBox = "/daytona/sandbox/box";
  void SetUp() override { make_sandbox(R"({"name":"box","labels":{"a":"1","b":"2"}})"); }
  codec::json::object post(const std::string& path, const std::string& body = {}) {
    const auto got = call("POST", kBox + path, body);
    EXPECT_EQ(got->status, 200) << path << " " << got->answer_body;
    return json(got);
  }
  std::string state() { return text(json(call("GET", kBox)), "state"); }
  // The message of a refusal.
  std::string refusal(int status, const std::string& path, const std::string& body = {}) {
    const auto got = call("POST", kBox + path, body);
    EXPECT_EQ(got->status, status) << path << " " << got->answer_body;
    return text(json(got), "message");
  }
  std::size_t listed(const std::string& query) {
    const auto got = call("GET", "/daytona/sandbox" + query);
    EXPECT_EQ(got->status, 200) << got->answer_body;
    return json(got).at("items").as_array().size();
  }
};

TEST_F(SandboxesTest, StatesComeWithTheAnswer) {
  EXPECT_EQ(refusal(400, "/archive"), "Sandbox is not stopped");
  EXPECT_EQ(refusal(400, "/recover"), "Sandbox must be in error state to recover");
  EXPECT_EQ(text(post("/pause"), "state"), "paused");
  EXPECT_EQ(text(post("/start"), "state"), "started");
  EXPECT_EQ(text(post("/stop"), "state"), "stopped");
  EXPECT_EQ(refusal(400, "/pause"), "Sandbox is not started");
  EXPECT_EQ(text(post("/archive"), "state"), "archived");
  EXPECT_EQ(state(), "archived");
  EXPECT_EQ(text(post("/start"), "state"), "started");
  clock.advance(Millis{1000});
  EXPECT_EQ(text(post("/stop"), "state"), "stopped") << "the mark was of the other stop";
}

TEST_F(SandboxesTest, AnEphemeralOneEndsWithItsStop) {
  EXPECT_EQ(post("/autodelete/0").at("autoDeleteInterval").as_int64(), 0);
  EXPECT_EQ(text(post("/stop"), "state"), "destroyed");
  EXPECT_EQ(call("GET", kBox)->status, 404);
}

TEST_F(SandboxesTest, IntervalsAreInMinutes) {
  EXPECT_EQ(post("/autostop/7").at("autoStopInterval").as_int64(), 7);
  EXPECT_EQ(post("/autoarchive/8").at("autoArchiveInterval").as_int64(), 8);
  EXPECT_EQ(post("/autodelete/-1").at("autoDeleteInterval").as_int64(), -1);
  EXPECT_EQ(post("/autopause/0").at("autoPauseInterval").as_int64(), 0);
  EXPECT_FALSE(text(post("/ttl/9"), "autoDestroyAt").empty());
  EXPECT_TRUE(text(post("/ttl/0"), "autoDestroyAt").empty());
  refusal(400, "/autostop/-1");
  refusal(400, "/autostop/x");
  refusal(501, "/autopause/5");
}

TEST_F(SandboxesTest, LabelsArePutAndFound) {
  EXPECT_EQ(listed(R"(?labels=%7B%22a%22%3A%221%22%7D)"), 1u);
  EXPECT_EQ(listed(R"(?labels=%7B%22a%22%3A%222%22%7D)"), 0u);
  const auto put = call("PUT", std::string(kBox) + "/labels", R"({"labels":{"a":"2"}})");
  EXPECT_EQ(put->status, 200);
  EXPECT_EQ(json(put).at("labels").as_object().size(), 1u);
  EXPECT_EQ(listed(R"(?labels=%7B%22a%22%3A%222%22%7D)"), 1u);
  EXPECT_EQ(call("GET", "/daytona/sandbox?labels=x")->status, 400);
}

TEST_F(SandboxesTest, ListsAreFilteredAndPaged) {
  make_sandbox(R"({"name":"other","cpu":2})");
  EXPECT_EQ(listed(""), 2u);
  EXPECT_EQ(listed("?states=started&states=stopped"), 2u);
  EXPECT_EQ(listed("?states=stopped"), 0u);
  EXPECT_EQ(listed("?name=oth"), 1u);
  EXPECT_EQ(listed("?minCpu=2"), 1u);
  EXPECT_EQ(listed("?maxCpu=1"), 1u);
  EXPECT_EQ(listed("?isPublic=true"), 0u);
  EXPECT_EQ(listed("?createdAtBefore=2001-01-01T00%3A00%3A00Z"), 0u);
  const auto first = json(call("GET", "/daytona/sandbox?limit=1&sort=name&order=asc"));
  const std::string cursor = text(first, "nextCursor");
  ASSERT_FALSE(cursor.empty());
  EXPECT_EQ(text(first.at("items").as_array()[0].as_object(), "name"), "box");
  const auto second =
      json(call("GET", "/daytona/sandbox?limit=1&sort=name&order=asc&cursor=" + cursor));
  EXPECT_EQ(text(second.at("items").as_array()[0].as_object(), "name"), "other");
  EXPECT_TRUE(second.at("nextCursor").is_null());
  EXPECT_EQ(call("GET", "/daytona/sandbox?limit=1&cursor=" + cursor)->status, 400)
      << "it is of another order";
  const auto paged = json(call("GET", "/daytona/sandbox/paginated?page=2&limit=1"));
  EXPECT_EQ(paged.at("totalPages").as_int64(), 2);
  EXPECT_EQ(paged.at("items").as_array().size(), 1u);
}

TEST_F(SandboxesTest, AThreadHasOneSandbox) {
  const std::string body = R"({"labels":{"thread_id":"7"}})";
  const std::string id = text(make_sandbox(body), "id");
  EXPECT_EQ(text(make_sandbox(body), "id"), id);
  EXPECT_NE(text(make_sandbox(R"({"labels":{"thread_id":"8"}})"), "id"), id);
  const auto named = call("POST", "/daytona/sandbox", R"({"name":"n","labels":{"thread_id":"7"}})");
  EXPECT_EQ(named->status, 409) << named->answer_body;
  const std::string eight = R"({"name":"eight","labels":{"thread_id":"9"}})";
  EXPECT_EQ(text(make_sandbox(eight), "id"), text(make_sandbox(eight), "id"));
  const auto moved = call("PUT", "/daytona/sandbox/" + id + "/labels", R"({"labels":{}})");
  EXPECT_EQ(moved->status, 200);
  EXPECT_NE(text(make_sandbox(body), "id"), id) << "it left the thread";
}

TEST_F(SandboxesTest, ResizeNeedsAStop) {
  EXPECT_NE(refusal(400, "/resize", R"({"cpu":2})").find("stopped"), std::string::npos);
  post("/stop");
  const auto out = post("/resize", R"({"cpu":2,"memory":4})");
  EXPECT_EQ(out.at("cpu").as_int64(), 2);
  EXPECT_EQ(out.at("memory").as_int64(), 4);
  refusal(400, "/resize", R"({"cpu":2})");
  EXPECT_EQ(refusal(400, "/resize", R"({"disk":1})"), "Disk size cannot be decreased");
}

TEST_F(SandboxesTest, NetworkAndPublicChange) {
  EXPECT_TRUE(
      post("/network-settings", R"({"networkBlockAll":true})").at("networkBlockAll").as_bool());
  const auto listed =
      post("/network-settings", R"({"networkAllowList":"192.0.2.0/24","networkBlockAll":false})");
  EXPECT_FALSE(listed.at("networkBlockAll").as_bool());
  EXPECT_EQ(text(listed, "networkAllowList"), "192.0.2.0/24");
  const auto open = post("/network-settings", R"({"networkAllowList":""})");
  EXPECT_EQ(text(open, "networkAllowList"), "");
  EXPECT_TRUE(post("/public/true").at("public").as_bool());
  EXPECT_FALSE(post("/public/false").at("public").as_bool());
  EXPECT_EQ(call("POST", std::string(kBox) + "/last-activity")->status, 201);
}

TEST_F(SandboxesTest, PreviewsAndSigningKeys) {
  const auto preview = json(call("GET", std::string(kBox) + "/ports/3000/preview-url"));
  EXPECT_FALSE(text(preview, "token").empty());
  EXPECT_EQ(text(preview, "url").find(text(preview, "token")), std::string::npos);
  const auto made = json(call("GET", std::string(kBox) + "/ports/3000/signed-preview-url"));
  const std::string token = text(made, "token");
  EXPECT_NE(text(made, "url").find("/3000~" + token), std::string::npos) << text(made, "url");
  const std::string expire = "/ports/3000/signed-preview-url/" + token + "/expire";
  EXPECT_EQ(call("POST", kBox + expire)->status, 200);
  EXPECT_EQ(call("POST", kBox + expire)->status, 404);
  EXPECT_EQ(call("GET", std::string(kBox) + "/ports/0/preview-url")->status, 400);
  const std::string key = call("GET", std::string(kBox) + "/signing-key")->answer_body;
  EXPECT_EQ(call("GET", std::string(kBox) + "/signing-key")->answer_body, key);
  EXPECT_NE(call("POST", std::string(kBox) + "/signing-key/rotate")->answer_body, key);
}

TEST_F(SandboxesTest, NamesAreUnique) {
  const auto again = call("POST", "/daytona/sandbox", R"({"name":"box"})");
  EXPECT_EQ(again->status, 409);
  EXPECT_EQ(text(json(again), "message"), "Sandbox with name box already exists");
}

TEST_F(SandboxesTest, WhatIsNotHereSaysWhy) {
  EXPECT_NE(refusal(501, "/ssh-access").find("SSH"), std::string::npos);
  EXPECT_EQ(call("POST", "/daytona/warm-pools", "{}")->status, 501);
  EXPECT_EQ(call("GET", "/daytona/warm-pools")->answer_body, "[]");
  EXPECT_EQ(
      json(call("GET", std::string(kBox) + "/telemetry/metrics")).at("series").as_array().size(),
      4u);
}

}  // namespace
}  // namespace cay::api::daytona
