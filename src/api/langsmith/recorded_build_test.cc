#include "api/langsmith/recorded_build.h"

#include "api/langsmith/langsmith_test.h"

namespace cay::api::langsmith {
namespace {

class RecordedBuildTest : public LangsmithTest {
 protected:
  RecordedBuildTest() { make_box(); }

  void put(const std::string& path, const std::string& text) {
    files().put(path, Bytes(text.begin(), text.end()));
  }
  void record(const std::string& text) { put("/var/lib/cay/builds/team%app:1.json", text); }
  Result<RecordedBuild> read(const std::string& image = "team/app:1") {
    return core::testing::run(
        loop, recorded_build(*cay, Principal{TenantId("t1"), "key1"}, "box", image));
  }
  std::string refusal(const std::string& image = "team/app:1") {
    auto got = read(image);
    EXPECT_FALSE(got);
    return got ? "" : got.error().reason;
  }
};

constexpr const char* kRecord =
    R"({"version":1,"image":"team/app:1","context":"/c","dockerfile":"/c/sub/File","target":"last",
        "no_cache":true,"build_args":{"A":"x y"}})";

TEST_F(RecordedBuildTest, TheRecordAndItsDockerfileBecomeARequest) {
  record(kRecord);
  put("/c/sub/File", "FROM x\n");
  const auto got = read();
  ASSERT_TRUE(got) << got.error().message;
  EXPECT_EQ(got->context, "/c");
  EXPECT_EQ(got->request.dockerfile, "FROM x\n");
  EXPECT_EQ(got->request.target, "last");
  EXPECT_TRUE(got->request.no_cache);
  EXPECT_EQ(got->request.arguments, (std::map<std::string, std::string>{{"A", "x y"}}));
}

TEST_F(RecordedBuildTest, AnImageThatNobodyBuiltIsRefused) {
  for (const char* image : {"team/app:2", "", "../../etc/passwd", "a b", "-x"})
    EXPECT_EQ(refusal(image), "image_not_built") << image;
  EXPECT_EQ(refusal(std::string(300, 'x')), "image_not_built");
  const auto capture = std::string(kBoxes) + "/box/snapshot";
  EXPECT_EQ(field_of(call("POST", capture, R"({"name":"x","docker_image":"none:1"})")),
            "docker_image");
  EXPECT_EQ(call("POST", std::string(kBoxes) + "/none/snapshot",
                 R"({"name":"x","docker_image":"none:1"})")
                ->status,
            404);
}

TEST_F(RecordedBuildTest, ARecordThatIsNoneIsRefused) {
  put("/c/sub/File", "FROM x\n");
  const std::string good = kRecord;
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    text.replace(text.find(from), from.size(), to);
    record(text);
    return refusal();
  };
  EXPECT_EQ(with(R"("version":1)", R"("version":2)"), "bad_build_record");
  EXPECT_EQ(with("team/app:1", "team/app:2"), "bad_build_record");
  EXPECT_EQ(with(R"("/c")", R"("c")"), "bad_build_record");
  EXPECT_EQ(with(R"("/c/sub/File")", "7"), "bad_build_record");
  EXPECT_EQ(with(R"("/c/sub/File")", R"("/c/none")"), "bad_build_record");
  EXPECT_EQ(with(R"("x y")", "{}"), "bad_build_record");
  EXPECT_EQ(with(R"("target")", R"("more")"), "bad_build_record");
  EXPECT_EQ(with("{", "[{"), "bad_build_record");
  record("{\"version\":1,\"target\":\"" + std::string(300'000, 'x') + "\"}");
  EXPECT_EQ(refusal(), "bad_build_record");
  record(good);
  files().tree.erase("/c/sub/File");
  files().put_directory("/c/sub/File");
  EXPECT_EQ(refusal(), "bad_build_record");
  put("/c/sub/File", std::string(2 << 20, 'x'));
  EXPECT_EQ(refusal(), "bad_build_record");
}

}  // namespace
}  // namespace cay::api::langsmith
