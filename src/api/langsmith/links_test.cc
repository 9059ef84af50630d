#include "api/langsmith/langsmith_test.h"

namespace cay::api::langsmith {
namespace {

class LangsmithLinksTest : public LangsmithTest {
 protected:
  LangsmithLinksTest() { make_box(); }
  testing::ExchangeHandle service(const std::string& body) {
    return call("POST", std::string(kBoxes) + "/box/service-url", body);
  }
  testing::ExchangeHandle file(const std::string& body) {
    return call("POST", std::string(kBoxes) + "/box/download-url", body);
  }
};

TEST_F(LangsmithLinksTest, AServiceUrlHasAllThatTheClientsRead) {
  const auto made = service(R"({"port":3000,"expires_in_seconds":60})");
  EXPECT_TRUE(made->subject.starts_with("link ") && made->subject.ends_with(" port 3000 for 60 s"))
      << made->subject;
  const auto got = json(made);
  for (const char* member : {"service_url", "browser_url", "token", "expires_at"})
    EXPECT_FALSE(got.at(member).as_string().empty()) << member;
  EXPECT_TRUE(got.at("service_url").as_string().starts_with("http://127.0.0.1:8787/svc/"));
  EXPECT_TRUE(got.at("browser_url").as_string().find("--3000.localhost:8787/_svc/auth?token=") !=
              std::string::npos);
}

TEST_F(LangsmithLinksTest, WrongOnesAreRefusedAndWhatIsNotEnforcedToo) {
  EXPECT_EQ(field_of(service("{}")), "port");
  EXPECT_EQ(field_of(service(R"({"port":70000})")), "port");
  EXPECT_EQ(field_of(service(R"({"port":80,"expires_in_seconds":86401})")), "expires_in_seconds");
  EXPECT_EQ(type_of(service(R"({"port":80,"access":"workspace"})")), "NotImplemented");
  EXPECT_EQ(type_of(service(R"({"port":80,"access":"restricted"})")), "NotImplemented");
  for (const char* body : {R"({"port":80,"access":"everyone"})", R"({"port":80,"access":""})",
                           R"({"port":80,"access":true})"}) {
    EXPECT_EQ(field_of(service(body)), "access") << body;
  }
  EXPECT_EQ(field_of(service(R"({"port":80,"embed_origins":"https://a.example"})")),
            "embed_origins");
  EXPECT_TRUE(store.link_rows.empty()) << "nothing was granted";
  EXPECT_EQ(type_of(service(R"({"port":80,"embed_origins":["https://a.example"]})")),
            "NotImplemented");
  EXPECT_EQ(field_of(file("{}")), "path");
  EXPECT_EQ(field_of(file(R"({"path":"/a","content_disposition":"other"})")),
            "content_disposition");
  EXPECT_EQ(field_of(file(R"({"path":"/a","content_type":"x\r\ny"})")), "content_type");
  EXPECT_EQ(call("POST", std::string(kBoxes) + "/none/service-url", R"({"port":80})")->status, 404);
}

TEST_F(LangsmithLinksTest, OffWithdrawsThePortsLinks) {
  service(R"({"port":80})");
  service(R"({"port":81})");
  EXPECT_EQ(store.link_rows.size(), 2U);
  const auto off = service(R"({"port":80,"access":"off"})");
  EXPECT_EQ(off->status, 200);
  EXPECT_EQ(off->subject, "withdrew 1 links of port 80");
  ASSERT_EQ(store.link_rows.size(), 1U);
  EXPECT_EQ(store.link_rows.begin()->second.spec.port, 81);
}

TEST_F(LangsmithLinksTest, ADownloadUrlLivesForEverUnlessItIsSaid) {
  const auto made = file(R"({"path":"out.txt"})");
  EXPECT_TRUE(made->subject.ends_with(" until withdrawn: out.txt")) << made->subject;
  const auto got = json(made);
  EXPECT_TRUE(got.at("expires_at").is_null());
  EXPECT_TRUE(got.at("download_url").as_string().ends_with(got.at("token").as_string()));
  EXPECT_EQ(store.link_rows.begin()->second.spec.workdir, "/home/user");
  EXPECT_FALSE(json(file(R"({"path":"/a","expires_in_seconds":5})")).at("expires_at").is_null());
}

}  // namespace
}  // namespace cay::api::langsmith
