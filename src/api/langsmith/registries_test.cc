#include "api/langsmith/langsmith_test.h"

namespace cay::api::langsmith {
namespace {

class LangsmithRegistriesTest : public LangsmithTest {
 protected:
  static constexpr const char* kAll = "/api/v2/sandboxes/registries";
  static constexpr const char* kOne = "/v2/sandboxes/registries/mine";
  static constexpr const char* kMine =
      R"({"name":"mine","url":"r.test:5000","username":"ann","password":"hush"})";

  testing::ExchangeHandle ask(const std::string& method, const std::string& where,
                              std::string body = {}) {
    auto got = call(method, where, std::move(body));
    EXPECT_EQ(got->answer_body.find("hush"), std::string::npos) << got->answer_body;
    EXPECT_EQ(got->answer_body.find("ann"), std::string::npos) << got->answer_body;
    return got;
  }
};

TEST_F(LangsmithRegistriesTest, OneIsMadeListedChangedAndDeletedUnderBothPrefixes) {
  const auto made = ask("POST", kAll, kMine);
  ASSERT_EQ(made->status, 201) << made->answer_body;
  const auto mine = json(made);
  EXPECT_EQ(mine.at("name").as_string(), "mine");
  EXPECT_EQ(mine.at("url").as_string(), "r.test:5000");
  EXPECT_EQ(mine.at("created_by"), mine.at("updated_by"));
  EXPECT_EQ(type_of(ask("POST", kAll, kMine)), "NameConflict");
  const auto listed = json(ask("GET", "/v2/sandboxes/registries?name_contains=in&limit=5"));
  EXPECT_EQ(listed.at("registries").at(0), codec::json::value(mine));
  EXPECT_EQ(listed.at("items"), listed.at("registries"));
  EXPECT_EQ(json(ask("GET", std::string(kAll) + "?name_contains=no")).at("registries"),
            codec::json::array());
  EXPECT_EQ(json(call("GET", "/v2/sandboxes/usage")).at("registries_count").as_int64(), 1);
  EXPECT_EQ(json(ask("GET", kOne)).at("id"), mine.at("id"));
  const auto changed = ask("PATCH", kOne, R"({"username":"ann2","password":"hush2"})");
  ASSERT_EQ(changed->status, 200) << changed->answer_body;
  const RegistryId id(std::string(mine.at("id").as_string()));
  EXPECT_EQ(store.registry_rows.at(id).info.username, "ann2");
  EXPECT_EQ(store.registry_rows.at(id).password, "hush2");
  EXPECT_EQ(field_of(ask("PATCH", kOne, R"({"url":"evil.test"})")), "url");
  EXPECT_EQ(ask("DELETE", kOne)->status, 204);
  EXPECT_EQ(ask("DELETE", kOne)->status, 404);
  EXPECT_EQ(ask("GET", kOne)->status, 404);
}

TEST_F(LangsmithRegistriesTest, RefusalsNameTheField) {
  EXPECT_EQ(field_of(call("POST", kAll, R"({"url":"r.test"})")), "name");
  EXPECT_EQ(field_of(call("POST", kAll, R"({"name":"x"})")), "url");
  EXPECT_EQ(field_of(call("POST", kAll, R"({"name":"x","url":"ftp://r"})")), "url");
  EXPECT_EQ(field_of(call("POST", kAll, R"({"name":"x y","url":"r.test"})")), "name");
  EXPECT_EQ(field_of(call("POST", kAll, R"({"name":"x","url":"r.test","username":"a:b"})")),
            "username");
  EXPECT_EQ(field_of(call("POST", kAll, R"({"name":"x","url":"r.test","auth_type":"AWS_ROLE"})")),
            "auth_type");
}

TEST_F(LangsmithRegistriesTest, ASnapshotIsBuiltWithTheLoginOfARegistry) {
  images.images["r.test:5000/x:1"] = images.image_of({{"bin/sh", "shell"}});
  const auto made = json(ask("POST", kAll, kMine));
  const std::string id(made.at("id").as_string());
  const auto snapshot = ask("POST", "/v2/sandboxes/snapshots",
                            R"({"name":"x","docker_image":"r.test:5000/x:1","registry_id":")" + id +
                                R"(","tag":"v1","labels":{"a":"b"},"run_config":{"user":"0"}})");
  ASSERT_EQ(snapshot->status, 201) << snapshot->answer_body;
  settle();
  EXPECT_EQ(images.pulls.back().login.username, "ann");
  EXPECT_EQ(images.pulls.back().login.password, "hush");
  const auto ready = json(ask("GET", "/v2/sandboxes/snapshots/x:v1"));
  EXPECT_EQ(ready.at("status").as_string(), "ready");
  EXPECT_EQ(ready.at("registry_id").as_string(), id);
  EXPECT_EQ(ready.at("labels").at("a").as_string(), "b");
  EXPECT_EQ(ready.at("run_config").at("user").as_string(), "0");
  EXPECT_EQ(
      field_of(call("POST", "/v2/sandboxes/snapshots",
                    R"({"name":"x","docker_image":"evil.test/x","registry_id":")" + id + R"("})")),
      "docker_image");
  EXPECT_EQ(call("POST", "/v2/sandboxes/snapshots",
                 R"({"name":"x","docker_image":"x","registry_id":"none"})")
                ->status,
            404);
}

}  // namespace
}  // namespace cay::api::langsmith
