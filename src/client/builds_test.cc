// Builds of Dockerfiles: the request, the log that is followed, and the files of the context.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <filesystem>
#include <fstream>
#include <map>

#include "archive/tar_reader.h"
#include "base/testing/temp_dir.h"
#include "client/context_pack.h"
#include "client/json_write.h"
#include "client/testing/store_fixture.h"
#include "cay/client.h"

namespace cay::sdk {
namespace {

namespace fs = std::filesystem;
using client::ContextPacker;

struct BuildsTest : client::testing::StoreFixture {
  void answers(std::vector<Result<http::Response>> all) {
    log->answer = [all, next = std::size_t{0}](const std::string&) mutable {
      return all[std::min(next++, all.size() - 1)];
    };
  }
  static Result<http::Response> ok(std::string body) {
    return http::Response{200, {}, std::move(body)};
  }
};

TEST_F(BuildsTest, ABuildSendsItsRequestAndThenTheContext) {
  answers({ok(R"({"id":"i","status":"building"})")});
  std::vector<std::string> pieces{"", "the-tar"};
  const auto context = [&pieces] {
    std::string piece = std::move(pieces.back());
    pieces.pop_back();
    return piece;
  };
  BuildOptions build{.dockerfile = "FROM scratch\n", .name = "app:2", .target = "web"};
  build.arguments = {{"V", "1"}};
  build.secrets = {{"npm", "token"}};
  build.policy = "pip";
  build.no_cache = build.pull = true;
  build.logins = {{"a.io", {.username = "me", .password = "word"}}};
  EXPECT_EQ(store.build(build, context).id, "i");
  ASSERT_EQ(log->requests.size(), 1U);
  const std::string& sent = log->requests[0];
  EXPECT_TRUE(sent.starts_with("POST /api/v1/snapshots/build --cay-")) << sent;
  const std::string json =
      R"({"dockerfile":"FROM scratch\n","name":"app","tag":"2","target":"web",)"
      R"("arguments":{"V":"1"},"secrets":{"npm":"token"},"policy":"pip","no_cache":true,)"
      R"("pull":true,"logins":{"a.io":{"username":"me","password":"word"}}})";
  const auto request =
      sent.find("name=\"build\"\r\nContent-Type: application/json\r\n\r\n" + json + "\r\n--cay-");
  const auto files = sent.find(
      "name=\"context\"; filename=\"context\"\r\nContent-Type: application/x-tar\r\n\r\n"
      "the-tar\r\n--cay-");
  EXPECT_LT(request, files) << sent;
  EXPECT_NE(files, std::string::npos) << sent;
  EXPECT_TRUE(sent.ends_with("--\r\n")) << sent;
}

TEST_F(BuildsTest, ASecretThatIsNoTextIsNamedWithoutItsValue) {
  BuildOptions build{.dockerfile = "FROM scratch\n"};
  build.secrets = {{"npm", "hunter2\xff"}};
  try {
    client::build_body(build);
    FAIL() << "it is no UTF-8";
  } catch (const ApiError& error) {
    const std::string what = error.what();
    EXPECT_NE(what.find("npm"), std::string::npos) << what;
    EXPECT_EQ(what.find("hunter2"), std::string::npos) << what;
  }
}

TEST_F(BuildsTest, TheLogIsFollowedToTheEnd) {
  answers({ok(R"({"state":"building","from":0,"end":4,"text":"one\n"})"),
           Error{Code::kUnavailable, "connect_failed", "nobody listens", 0},
           ok(R"({"state":"building","from":4,"end":4,"text":""})"),
           ok(R"({"state":"ready","from":4,"end":8,"text":"two\n"})"),
           ok(R"({"state":"ready","from":8,"end":8,"text":""})"),
           ok(R"({"id":"i","status":"ready"})")});
  std::string seen;
  const auto built = store.follow_build("i", [&seen](const std::string& text) { seen += text; });
  EXPECT_EQ(built.status, "ready");
  EXPECT_EQ(seen, "one\ntwo\n");
  ASSERT_EQ(log->requests.size(), 6U);
  EXPECT_TRUE(log->requests[1].starts_with("GET /api/v1/snapshots/i/build?offset=4&wait="));
  EXPECT_TRUE(log->requests[3].starts_with("GET /api/v1/snapshots/i/build?offset=4&wait="));
  EXPECT_TRUE(log->requests[4].starts_with("GET /api/v1/snapshots/i/build?offset=8&wait="));
  EXPECT_EQ(log->requests[5], "GET /api/v1/snapshots/i");
}

TEST_F(BuildsTest, AFailedStepIsAnErrorWithItsReason) {
  answers({ok(R"({"state":"failed","from":0,"end":0,"text":"","reason":"build_failed",)"
              R"("message":"line 2: RUN false exit code 1"})")});
  try {
    store.follow_build("i");
    FAIL() << "it failed";
  } catch (const ApiError& error) {
    EXPECT_EQ(error.reason(), "build_failed");
    EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
    EXPECT_STREQ(error.what(), "line 2: RUN false exit code 1");
  }
}

TEST_F(BuildsTest, ADaemonThatWasStartedMeanwhileHasTheEndInTheSnapshot) {
  answers({ok(R"({"state":"building","from":0,"end":0,"text":""})"),
           Error{Code::kNotFound, "build_not_found", "no log", 0},
           ok(R"({"id":"i","status":"failed","status_message":"the daemon was restarted"})")});
  try {
    store.follow_build("i");
    FAIL() << "it failed";
  } catch (const ApiError& error) {
    EXPECT_EQ(error.reason(), "snapshot_failed");
    EXPECT_STREQ(error.what(), "the daemon was restarted");
  }
}

struct ContextTest : ::testing::Test {
  const cay::testing::TempDir temp;
  const fs::path root = temp.path();

  void write(const std::string& name, const std::string& text, int mode = 0644) const {
    fs::create_directories((root / name).parent_path());
    std::ofstream(root / name) << text;
    ASSERT_EQ(::chmod((root / name).c_str(), static_cast<mode_t>(mode)), 0);
  }

  // "name mode content" of each entry, in the archive's order.
  std::vector<std::string> packed(const std::string& ignore = {}) {
    auto packer = ContextPacker::open(root, ignore);
    EXPECT_TRUE(packer) << packer.error().message;
    archive::TarReader tar([&] { return (*packer)->next(); });
    std::vector<std::string> out;
    while (tar.next() == archive::TarReader::Step::kDone) {
      const auto entry = tar.entry();
      EXPECT_EQ(entry.uid(), 0) << "owners of this machine mean nothing inside";
      char mode[8];
      std::snprintf(mode, sizeof mode, "%o", entry.mode());
      std::string line = entry.name().value_or("?") + " " + mode;
      if (!entry.link_target().empty()) line += " -> " + entry.link_target();
      archive::TarReader::Block block;
      while (tar.block(block) == archive::TarReader::Step::kDone)
        line += " " + std::string(block.bytes);
      out.push_back(line);
    }
    report = (*packer)->report();
    return out;
  }
  CopyReport report;
};

TEST_F(ContextTest, HasFilesModesAndLinksInOrder) {
  write("b/run.sh", "#!", 0755);
  write("a", "A", 0640);
  fs::create_symlink("../nowhere", root / "b/link");
  fs::permissions(root / "b", fs::perms(0750));
  EXPECT_EQ(packed(), (std::vector<std::string>{"a 640 A", "b/ 750", "b/link 777 -> ../nowhere",
                                                "b/run.sh 755 #!"}));
  EXPECT_EQ(report.moved.files, 4U);
  EXPECT_EQ(report.left_out, 0U);
}

TEST_F(ContextTest, LeavesOutWhatTheIgnoreFileNames) {
  write("keep", "k");
  write("node_modules/x/index.js", "x");
  write("docs/a.md", "a");
  write("docs/deep/README.md", "r");
  write("empty/b.md", "b");
  const std::string ignore = "node_modules\ndocs\nempty\n!docs/deep/README.md\n";
  EXPECT_EQ(packed(ignore), (std::vector<std::string>{"docs/ 755", "docs/deep/ 755",
                                                      "docs/deep/README.md 644 r", "keep 644 k"}))
      << "the directories of a kept file come with it, and others do not";
}

TEST_F(ContextTest, NamesWhatABuildCannotHave) {
  write("a", "A");
  ASSERT_EQ(::mkfifo((root / "pipe").c_str(), 0600), 0);
  EXPECT_EQ(packed(), std::vector<std::string>{"a 644 A"});
  ASSERT_EQ(report.skipped.size(), 1U);
  EXPECT_EQ(report.skipped[0].path, "pipe");
}

TEST_F(ContextTest, ABadDirectoryOrIgnoreFileIsNamed) {
  write("a", "A");
  EXPECT_EQ(ContextPacker::open(root / "none", {}).error().code, Code::kNotFound);
  EXPECT_EQ(ContextPacker::open(root / "a", {}).error().reason, "not_a_directory");
  EXPECT_EQ(ContextPacker::open(root, "a\n[\n").error().reason, "invalid_dockerignore");
  EXPECT_THROW(BuildContext((root / "none").string()), ApiError);
}

}  // namespace
}  // namespace cay::sdk
