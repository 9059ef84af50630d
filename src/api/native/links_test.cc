#include "api/native/native_test.h"
#include "codec/time.h"

namespace cay::api {
namespace {

class NativeLinksTest : public NativeTest {
 protected:
  NativeLinksTest() { box = make_box(); }
  static std::int64_t lifetime_ms(const codec::json::object& link) {
    const auto at = [&link](const char* name) {
      return codec::from_rfc3339(link.at(name).as_string()).value_or(0);
    };
    return at("expires_at") - at("created_at");
  }
  std::string box;
};

TEST_F(NativeLinksTest, AServicesLinkIsMadeListedAndWithdrawn) {
  const auto made = call("POST", box + "/links", R"({"port":8080,"expires_in_s":90})");
  ASSERT_EQ(made->status, 201) << made->answer_body;
  const auto link = json(made);
  EXPECT_EQ(link.at("kind").as_string(), "service");
  EXPECT_EQ(made->subject,
            "link " + std::string(link.at("id").as_string()) + " port 8080 for 90 s");
  EXPECT_EQ(link.at("port").as_int64(), 8080);
  const std::string token(link.at("token").as_string()), id(link.at("id").as_string()),
      sandbox(link.at("sandbox_id").as_string());
  EXPECT_EQ(link.at("url").as_string(), "http://127.0.0.1:8787/svc/" + sandbox + "/8080");
  EXPECT_EQ(link.at("browser_url").as_string(),
            "http://" + sandbox + "--8080.localhost:8787/_svc/auth?token=" + token);
  EXPECT_FALSE(link.at("expires_at").is_null());
  const auto listed = call("GET", box + "/links");
  EXPECT_EQ(listed->answer_body.find(token), std::string::npos) << "a token is shown once";
  EXPECT_EQ(json(listed).at("items").as_array().size(), 1U);
  EXPECT_EQ(call("DELETE", box + "/links/" + id)->status, 204);
  EXPECT_EQ(call("DELETE", box + "/links/" + id)->status, 404);
  EXPECT_TRUE(json(call("GET", box + "/links")).at("items").as_array().empty());
}

TEST_F(NativeLinksTest, AFilesLinkLivesForADayOrAsLongAsIsSaid) {
  const auto made = call("POST", box + "/links",
                         R"({"path":"/etc/hostname","inline":true,"content_type":"text/plain"})");
  const auto link = json(made);
  EXPECT_EQ(made->subject,
            "link " + std::string(link.at("id").as_string()) + " for 86400 s: /etc/hostname");
  EXPECT_EQ(link.at("kind").as_string(), "file");
  EXPECT_EQ(lifetime_ms(link), 24 * 3'600'000);
  const auto brief =
      json(call("POST", box + "/links", R"({"path":"/etc/hostname","expires_in_s":60})"));
  EXPECT_EQ(lifetime_ms(brief), 60'000);
  const auto endless =
      json(call("POST", box + "/links", R"({"path":"/etc/hostname","expires_in_s":0})"));
  EXPECT_TRUE(endless.at("expires_at").is_null()) << "until it is withdrawn";
  EXPECT_EQ(link.at("url").as_string(), "http://127.0.0.1:8787/dl/" +
                                            std::string(link.at("sandbox_id").as_string()) + "/" +
                                            std::string(link.at("token").as_string()));
  const auto none = call("DELETE", box + "/links?port=80"), all = call("DELETE", box + "/links");
  EXPECT_EQ(json(none).at("withdrawn").as_int64(), 0);
  EXPECT_EQ(none->subject, "withdrew 0 links of port 80");
  EXPECT_EQ(json(all).at("withdrawn").as_int64(), 3);
  EXPECT_EQ(all->subject, "withdrew 3 links");
}

TEST_F(NativeLinksTest, WrongOnesAreRefusedByName) {
  for (const char* body : {"{}", R"({"port":80,"path":"/a"})", R"({"port":0})", R"({"port":65536})",
                           R"({"port":80,"expires_in_s":"1"})", R"({"port":80,"user":"x"})"}) {
    const auto got = call("POST", box + "/links", body);
    EXPECT_EQ(got->status, 400) << body;
    EXPECT_EQ(reason_of(got), "invalid_field") << body;
  }
  for (const char* seconds : {"-1", "0", "2592001", "99999999", "9223372036854775807"}) {
    const std::string lifetime = "\"expires_in_s\":" + std::string(seconds) + "}";
    const auto got = call("POST", box + "/links", "{\"port\":80," + lifetime);
    EXPECT_EQ(got->status, 400) << seconds;
    EXPECT_EQ(reason_of(got), "invalid_expiry") << seconds;
    EXPECT_NE(got->answer_body.find("from 1 second to 30 days (2592000 seconds)"),
              std::string::npos)
        << got->answer_body;
  }
  const auto file = call("POST", box + "/links", R"({"path":"/a","expires_in_s":-1})");
  EXPECT_EQ(reason_of(file), "invalid_expiry");
  EXPECT_NE(file->answer_body.find("from 1 second to 36500 days"), std::string::npos)
      << file->answer_body;
  EXPECT_EQ(call("POST", "/api/v1/sandboxes/none/links", R"({"port":80})")->status, 404);
  EXPECT_EQ(call("GET", "/api/v1/sandboxes/none/links")->status, 404);
  EXPECT_EQ(call("DELETE", box + "/links?port=x")->status, 400);
}

}  // namespace
}  // namespace cay::api
