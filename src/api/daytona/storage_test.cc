#include "api/daytona/daytona_test.h"

namespace cay::api::daytona {
namespace {

class StorageTest : public DaytonaTest {
 protected:
  std::string at(const std::string& hash = "0123") {
    const std::string tenant = exchange("GET", "/")->principal().tenant.get();
    return "/daytona/storage/contexts/" + tenant + "/" + hash + "/context.tar";
  }
  std::string listed() {
    const std::string tenant = exchange("GET", "/")->principal().tenant.get();
    return call("GET",
                "/daytona/storage/contexts/?list-type=2&max-keys=1&prefix=" + tenant + "%2F0123%2F")
        ->answer_body;
  }
};

TEST_F(StorageTest, AnObjectIsKeptAndFound) {
  EXPECT_EQ(call("HEAD", at())->status, 404);
  EXPECT_NE(listed().find("<KeyCount>0<"), std::string::npos);
  EXPECT_EQ(call("PUT", at(), "tar")->status, 200);
  EXPECT_EQ(call("HEAD", at())->status, 200);
  EXPECT_NE(listed().find("<KeyCount>1<"), std::string::npos) << listed();
}

TEST_F(StorageTest, PartsBecomeOneObject) {
  const auto begun = call("POST", at() + "?uploads=", "");
  const std::string& xml = begun->answer_body;
  const auto begin = xml.find("<UploadId>") + 10;
  const std::string id = xml.substr(begin, xml.find("</UploadId>") - begin);
  EXPECT_EQ(call("PUT", at() + "?partNumber=2&uploadId=" + id, "b")->status, 200);
  EXPECT_EQ(call("PUT", at() + "?partNumber=1&uploadId=" + id, "a")->status, 200);
  EXPECT_EQ(call("PUT", at() + "?partNumber=0&uploadId=" + id, "a")->status, 400);
  EXPECT_EQ(call("PUT", at() + "?partNumber=1&uploadId=other", "a")->status, 404);
  EXPECT_EQ(call("POST", at() + "?uploadId=" + id, "<x/>")->status, 200);
  EXPECT_NE(listed().find("<Size>2<"), std::string::npos) << listed();
  EXPECT_EQ(call("POST", at() + "?uploadId=" + id, "<x/>")->status, 404) << "it is over";
}

TEST_F(StorageTest, ObjectsOfOtherTenantsAreRefused) {
  const auto got = call("PUT", "/daytona/storage/contexts/another/0123/context.tar", "tar");
  EXPECT_EQ(got->status, 400);
  EXPECT_NE(got->answer_body.find("<Code>InvalidRequest<"), std::string::npos);
  EXPECT_EQ(call("PUT", "/daytona/storage/contexts/key", "tar")->status, 400);
}

TEST_F(StorageTest, CredentialsAreTheClientsOwnKey) {
  auto handle = exchange("GET", "/daytona/object-storage/push-access");
  handle->request.headers.add("Authorization", "Bearer secret-key");
  const auto out = json(serve(handle));
  EXPECT_EQ(text(out, "sessionToken"), "secret-key");
  EXPECT_EQ(text(out, "storageUrl"), "http://127.0.0.1:8787/daytona/storage");
}

TEST_F(StorageTest, ABuildNeedsItsContexts) {
  const auto got = call("POST", "/daytona/sandbox",
                        R"({"buildInfo":{"dockerfileContent":"FROM a\n","contextHashes":["h"]}})");
  EXPECT_EQ(got->status, 400) << got->answer_body;
  EXPECT_NE(got->answer_body.find("build context h is not here"), std::string::npos);
}

}  // namespace
}  // namespace cay::api::daytona
