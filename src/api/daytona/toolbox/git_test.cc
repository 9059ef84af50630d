// Tests of the readers of git's output.
#include <gtest/gtest.h>

#include "api/daytona/toolbox/git_run.h"
#include "api/daytona/toolbox/git_status.h"

namespace cay::api::daytona {
namespace {

using namespace std::string_literals;

TEST(DaytonaGitStatus, ReadsEveryKindOfEntry) {
  const auto status = git_status_json(
      "# branch.oid abc\0# branch.head main\0# branch.upstream origin/main\0# branch.ab +2 -1\0"
      "1 .M N... 100644 100644 100644 a b with space.txt\0"
      "1 A. N... 000000 100644 100644 a b added\0"
      "2 R. N... 100644 100644 100644 a b R100 new\0old\0"
      "u UU N... 100644 100644 100644 100644 a b c both\0"
      "? loose\0! ignored\0"s);
  EXPECT_EQ(status.at("currentBranch"), "main");
  EXPECT_EQ(status.at("upstream"), "origin/main");
  EXPECT_EQ(status.at("ahead"), 2);
  EXPECT_EQ(status.at("behind"), 1);
  EXPECT_EQ(status.at("branchPublished"), true);
  const auto& files = status.at("fileStatus").as_array();
  ASSERT_EQ(files.size(), 5u);
  EXPECT_EQ(files[0].at("name"), "with space.txt");
  EXPECT_EQ(files[0].at("staging"), "Unmodified");
  EXPECT_EQ(files[0].at("worktree"), "Modified");
  EXPECT_EQ(files[1].at("staging"), "Added");
  EXPECT_EQ(files[2].at("name"), "new");
  EXPECT_EQ(files[2].at("extra"), "old");
  EXPECT_EQ(files[3].at("worktree"), "Updated but unmerged");
  EXPECT_EQ(files[4].at("staging"), "Untracked");
}

TEST(DaytonaGitStatus, KnowsADetachedHead) {
  const auto status = git_status_json("# branch.oid abc\0# branch.head (detached)\0"s);
  EXPECT_EQ(status.at("detached"), true);
  EXPECT_EQ(status.at("branchPublished"), false);
}

TEST(DaytonaGitLog, KeepsWholeMessages) {
  const auto log = git_log_json(
      "h1\0Ana\0ana@example.com\0002026-01-02T03:04:05Z\0first\n\nbody\n\0\nh2\0B\0b\0t\0m\0\n"s);
  ASSERT_EQ(log.size(), 2u);
  EXPECT_EQ(log[0].at("message"), "first\n\nbody\n");
  EXPECT_EQ(log[0].at("timestamp"), "2026-01-02T03:04:05Z");
  EXPECT_EQ(log[1].at("hash"), "h2");
}

TEST(DaytonaGitRemotes, AreNamedOnce) {
  const auto remotes = git_remotes_json(
      "origin\thttps://example.com/a b (fetch)\norigin\thttps://example.com/a b (push)\n");
  ASSERT_EQ(remotes.size(), 1u);
  EXPECT_EQ(remotes[0].at("url"), "https://example.com/a b");
}

TEST(DaytonaGitFailures, HaveTheVendorsCodes) {
  const auto code = [](const char* text) { return git_failure(text, 128).reason; };
  EXPECT_EQ(code("fatal: Authentication failed for 'https://x/'"), "GIT_AUTH_FAILED");
  EXPECT_EQ(code("fatal: could not read Username for 'https://x': terminal prompts disabled"),
            "GIT_AUTH_FAILED");
  EXPECT_EQ(code("fatal: not a git repository (or any of the parent directories): .git"),
            "GIT_REPO_NOT_FOUND");
  EXPECT_EQ(code("error: branch 'x' not found."), "GIT_BRANCH_NOT_FOUND");
  EXPECT_EQ(code("error: branch 'x' not found"), "GIT_BRANCH_NOT_FOUND");
  EXPECT_EQ(code("fatal: a branch named 'x' already exists"), "GIT_BRANCH_EXISTS");
  EXPECT_EQ(code("! [rejected] main -> main (fetch first)"), "GIT_PUSH_REJECTED");
  EXPECT_EQ(code("! [remote rejected] main -> main (hook declined)"), "GIT_REMOTE_REJECTED");
  EXPECT_EQ(code("error: Your local changes to the following files would be overwritten"),
            "GIT_DIRTY_WORKTREE");
  EXPECT_EQ(code("CONFLICT (content): Merge conflict in a"), "GIT_MERGE_CONFLICT");
  EXPECT_EQ(code("fatal: unable to access 'https://x/': Could not resolve host: x"),
            "GIT_TRANSPORT_FAILED");
  EXPECT_EQ(code("fatal: destination path 'a' already exists and is not an empty directory."),
            "CONFLICT");
  EXPECT_EQ(code("something else"), "BAD_REQUEST");
  EXPECT_EQ(git_failure("", 3).message, "git ended with exit code 3");
  EXPECT_FALSE(check_git_name("--upload-pack=x", "name"));
  EXPECT_FALSE(check_git_name("", "name"));
  EXPECT_TRUE(check_git_name("feature/x", "name"));
}

}  // namespace
}  // namespace cay::api::daytona
