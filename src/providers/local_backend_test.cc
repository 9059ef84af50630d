// The provider "local", and through it the file verbs over a real sh, find and grep.
#include "providers/local_backend.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "async/testing.h"
#include "base/testing/temp_dir.h"
#include "base/unique_fd.h"
#include "providers/local_provider.h"
#include "providers/text_page.h"

namespace cay::providers {
namespace {

namespace fs = std::filesystem;
using cay::testing::run;
using Paths = std::vector<std::string>;

class LocalBackendTest : public ::testing::Test {
 protected:
  Executed execute(std::string line, ExecuteOptions options = {}) {
    auto ran = run(loop, box.execute(std::move(line), std::move(options)));
    EXPECT_TRUE(ran) << (ran ? "" : ran.error().message);
    return ran ? *std::move(ran) : Executed{};
  }
  void write(const std::string& name, const std::string& bytes) {
    std::vector<std::pair<std::string, std::string>> files{{at(name), bytes}};
    auto written = run(loop, box.upload(std::move(files)));
    ASSERT_TRUE(written);
    EXPECT_EQ(written->front().error, "");
  }
  std::string at(const std::string& name) const { return box.workdir() + "/" + name; }
  Paths globbed(const std::string& pattern) {
    auto found = run(loop, box.glob(pattern, box.workdir()));
    EXPECT_TRUE(found) << (found ? "" : found.error().message);
    Paths out;
    if (!found) return out;
    EXPECT_FALSE(found->truncated);
    for (const auto& entry : found->entries) {
      out.push_back(entry.path.substr(box.workdir().size() + 1));
    }
    return out;
  }

  asio::io_context loop;
  cay::testing::TempDir directory;
  LocalBackend box{loop.get_executor(), fs::canonical(directory.path()).string()};
};

TEST_F(LocalBackendTest, RunsInItsDirectoryAndMergesStderr) {
  const auto ran = execute("echo one; echo two >&2; pwd; exit 3");
  EXPECT_EQ(ran.output, "one\ntwo\n" + box.workdir() + "\n");
  EXPECT_EQ(ran.exit_code, 3);
  EXPECT_EQ(ran.state, "exited");
}

TEST_F(LocalBackendTest, CommandsGetNoKeyOfThisProcess) {
  ::setenv("OPENAI_API_KEY", "sk-canary", 1);
  ::setenv("LANG", "C.UTF-8", 1);
  const auto ran = execute("env");
  ::unsetenv("OPENAI_API_KEY");
  EXPECT_EQ(ran.output.find("canary"), std::string::npos);
  EXPECT_NE(ran.output.find("LANG=C.UTF-8"), std::string::npos);
}

TEST_F(LocalBackendTest, ATimeoutEndsTheWholeGroup) {
  ExecuteOptions options;
  options.timeout_s = 0.3;
  const auto ran = execute("sleep 100 & echo $!; wait", options);
  EXPECT_EQ(ran.state, "timed_out");
  EXPECT_EQ(ran.shell_exit_code(), 124);
  const auto child = static_cast<pid_t>(std::stol(ran.output));
  // It was killed, and may still be on its way out.
  const UniqueFd ended(static_cast<int>(::syscall(SYS_pidfd_open, child, 0)));
  pollfd end{ended.get(), POLLIN, 0};
  constexpr int kLongEnough = 10'000;
  EXPECT_TRUE(!ended || ::poll(&end, 1, kLongEnough) == 1) << "it runs on";
}

TEST_F(LocalBackendTest, KeepsTheBeginningAndTheEndOfMuchOutput) {
  ExecuteOptions options;
  options.keep = 4096;
  std::size_t streamed = 0;
  options.on_output = [&](std::string_view bytes) { streamed += bytes.size(); };
  const auto ran = execute("echo first; yes | head -n 100000; echo last", options);
  EXPECT_TRUE(ran.truncated);
  EXPECT_EQ(ran.total_bytes, 200011U);
  EXPECT_EQ(streamed, 200011U);
  EXPECT_LE(ran.output.size(), 4096U);
  EXPECT_TRUE(ran.output.starts_with("first\n"));
  EXPECT_TRUE(ran.output.ends_with("last\n"));
}

TEST_F(LocalBackendTest, AChildThatHoldsTheOutputDelaysTheEndLittle) {
  const auto before = std::chrono::steady_clock::now();
  const auto ran = execute("sleep 30 & echo started");
  EXPECT_EQ(ran.output, "started\n");
  EXPECT_LT(std::chrono::steady_clock::now() - before, std::chrono::seconds(20));
}

TEST_F(LocalBackendTest, HasBackgroundCommandsWithInput) {
  auto started = run(loop, box.start("read line; echo got $line; exit 4", {}));
  ASSERT_TRUE(started);
  auto polled = run(loop, box.poll(*started, 0, 0));
  ASSERT_TRUE(polled);
  EXPECT_EQ(polled->state, "running");
  ASSERT_TRUE(run(loop, box.write_input(*started, "hello\n", true)));
  polled = run(loop, box.poll(*started, 0, 20));
  ASSERT_TRUE(polled);
  EXPECT_EQ(polled->state, "exited");
  EXPECT_EQ(polled->exit_code, 4);
  EXPECT_EQ(polled->output, "got hello\n");
  EXPECT_EQ(polled->next, 10U);
  polled = run(loop, box.poll(*started, 4, 0));
  EXPECT_EQ(polled->output, "hello\n");
  EXPECT_EQ(run(loop, box.poll("other", 0, 0)).error().reason, "unknown_command");
}

TEST_F(LocalBackendTest, InputForAProgramThatReadsNoneIsAnErrorAndNoSignal) {
  auto started = run(loop, box.start("exec <&-; sleep 100", {}));
  ASSERT_TRUE(started);
  auto written = run(loop, box.write_input(*started, "x", false));
  for (int i = 0; written && i < 1000; ++i) {  // until the shell has closed its stdin
    auto polled = run(loop, box.poll(*started, 0, 0.01));
    ASSERT_TRUE(polled);
    written = run(loop, box.write_input(*started, "x", false));
  }
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().reason, "stdin_closed");
  ASSERT_TRUE(run(loop, box.kill(*started)));
}

TEST_F(LocalBackendTest, KillsABackgroundCommand) {
  auto started = run(loop, box.start("sleep 100", {}));
  ASSERT_TRUE(started);
  ASSERT_TRUE(run(loop, box.kill(*started)));
  auto polled = run(loop, box.poll(*started, 0, 20));
  ASSERT_TRUE(polled);
  EXPECT_EQ(polled->state, "killed");
  EXPECT_EQ(polled->exit_code, 137);
}

TEST_F(LocalBackendTest, FilesRoundTripByteForByte) {
  std::string bytes;
  for (int i = 0; i < 512; ++i) bytes.push_back(static_cast<char>(i));
  write("a/b/all.bin", bytes);
  auto got = run(loop, box.download({at("a/b/all.bin"), at("missing"), "relative", at("a")}));
  ASSERT_TRUE(got);
  EXPECT_EQ((*got)[0].content, bytes);
  EXPECT_EQ((*got)[1].error, "file_not_found");
  EXPECT_EQ((*got)[2].error, "invalid_path");
  EXPECT_EQ((*got)[3].error, "is_directory");
}

TEST_F(LocalBackendTest, ListsOneLevel) {
  write("b.txt", "x");
  write("sub/c.txt", "x");
  write(".hidden", "x");
  write("it's here", "x");
  auto listed = run(loop, box.list(box.workdir() + "/"));
  ASSERT_TRUE(listed) << listed.error().message;
  Paths paths;
  for (const auto& entry : listed->entries) {
    paths.push_back(entry.path.substr(box.workdir().size() + 1) + (entry.is_directory ? "/" : ""));
  }
  EXPECT_EQ(paths, (Paths{".hidden", "b.txt", "it's here", "sub/"}));
  EXPECT_EQ(run(loop, box.list(at("b.txt"))).error().reason, "not_a_directory");
  EXPECT_EQ(run(loop, box.list(at("none"))).error().reason, "file_not_found");
}

TEST_F(LocalBackendTest, GlobsByTheSharedRules) {
  for (const char* name : {"a.py", "sub/b.py", "sub/nested/c.py", "readme.md", ".hidden.py",
                           ".hidden/x.py", ".github/workflows/ci.yml"}) {
    write(name, "x");
  }
  EXPECT_EQ(globbed("*.py"), (Paths{".hidden/x.py", "a.py", "sub/b.py", "sub/nested/c.py"}));
  EXPECT_EQ(globbed("**/*.py"), (Paths{"a.py", "sub/b.py", "sub/nested/c.py"}));
  EXPECT_EQ(globbed("/*.py"), (Paths{"a.py"}));
  EXPECT_EQ(globbed("*.{md,yml}"), (Paths{".github/workflows/ci.yml", "readme.md"}));
  EXPECT_EQ(globbed("sub/"), Paths{});
  // A link to a file of the tree counts, and one that leads out of it or nowhere does not.
  fs::create_symlink(at("a.py"), at("inside.py"));
  fs::create_symlink("/etc/passwd", at("outside.py"));
  fs::create_symlink(at("gone"), at("broken.py"));
  EXPECT_EQ(globbed("/*.py"), (Paths{"a.py", "inside.py"}));
  EXPECT_EQ(run(loop, box.glob("*", at("none"))).error().reason, "file_not_found");
  EXPECT_EQ(run(loop, box.glob("../*", box.workdir())).error().reason, "invalid_pattern");
}

TEST_F(LocalBackendTest, GrepsALiteralText) {
  write("a.py", "import os\nx = 'a|b'\nimport sys\n");
  write("sub/b:7:c.txt", "import x\n");
  write("bin", std::string("import\0", 7));
  auto found = run(loop, box.grep("import", box.workdir(), "", 100));
  ASSERT_TRUE(found) << found.error().message;
  ASSERT_EQ(found->entries.size(), 3U);
  EXPECT_FALSE(found->truncated);
  EXPECT_EQ(found->entries[0].path, at("a.py"));
  EXPECT_EQ(found->entries[1].line, 3U);
  EXPECT_EQ(found->entries[1].text, "import sys");
  found = run(loop, box.grep("import", box.workdir(), "*.py", 100));
  EXPECT_EQ(found->entries.size(), 2U);
  found = run(loop, box.grep("import", box.workdir(), "*.py", 2));
  EXPECT_FALSE(found->truncated);
  found = run(loop, box.grep("import", box.workdir(), "", 2));
  EXPECT_EQ(found->entries.size(), 2U);
  EXPECT_TRUE(found->truncated);
  found = run(loop, box.grep("a|b", at("a.py"), "", 2));
  ASSERT_EQ(found->entries.size(), 1U);
  EXPECT_EQ(found->entries[0].line, 2U);
  found = run(loop, box.grep("'; touch pwned; '", box.workdir(), "", 2));
  EXPECT_TRUE(found->entries.empty());
}

TEST_F(LocalBackendTest, ReadsPagesOfSmallAndLargeFiles) {
  write("small", "one\r\ntwo\rthree");
  auto page = run(loop, box.read(at("small"), 1, 5));
  ASSERT_TRUE(page) << page.error().message;
  EXPECT_EQ(page->text, "two\nthree");
  EXPECT_EQ(page->first_line, 2U);
  EXPECT_EQ(page->total_lines, 3U);
  EXPECT_EQ(run(loop, box.read(at("small"), 3, 5)).error().message,
            "Line offset 3 exceeds file length (3 lines)");
  execute("i=0; yes 0123456789012345678901234567890123456789 | head -n 60000 > large");
  page = run(loop, box.read(at("large"), 59'998, 100));
  ASSERT_TRUE(page) << page.error().message;
  EXPECT_EQ(page->first_line, 59'999U);
  EXPECT_EQ(page->last_line, 60'000U);
  EXPECT_EQ(page->total_lines, 60'000U);
  page = run(loop, box.read(at("large"), 0, 50'000));
  EXPECT_TRUE(page->cut);
  EXPECT_FALSE(page->total_lines);
  EXPECT_EQ(page->text.size() % 41, 40U);
  EXPECT_EQ(run(loop, box.read(at("large"), 60'000, 1)).error().reason, "offset_past_end");
  write("image", std::string("\x89PNG\0", 5));
  EXPECT_TRUE(run(loop, box.read(at("image"), 0, 1))->binary);
}

TEST_F(LocalBackendTest, RemovesATree) {
  write("sub/nested/c.txt", "x");
  ASSERT_TRUE(run(loop, box.remove(at("sub"))));
  EXPECT_FALSE(fs::exists(at("sub")));
  EXPECT_EQ(run(loop, box.remove(at("sub"))).error().reason, "file_not_found");
}

TEST_F(LocalBackendTest, ADirectoryThatIsGoneIsALostSandbox) {
  fs::remove_all(box.workdir());
  auto ran = run(loop, box.execute("true", {}));
  ASSERT_FALSE(ran);
  EXPECT_EQ(ran.error().code, Code::kLost);
  EXPECT_EQ(ran.error().reason, "sandbox_lost");
}

TEST_F(LocalBackendTest, AClaimHasOneDirectoryAndOthersAreNeverRemoved) {
  auto provider = make_local_provider(loop.get_executor(), at("state"));
  SandboxRequest request;
  request.claim = "thread:One/../x";
  auto first = run(loop, provider->open(request));
  auto second = run(loop, provider->open(request));
  ASSERT_TRUE(first && second);
  EXPECT_EQ((*first)->id(), (*second)->id());
  EXPECT_TRUE((*first)->id().starts_with(at("state/thread-")));
  write("mine/keep", "x");
  ASSERT_TRUE(run(loop, provider->remove(at("mine"))));
  EXPECT_TRUE(fs::exists(at("mine/keep")));
  ASSERT_TRUE(run(loop, provider->remove((*first)->id())));
  EXPECT_FALSE(fs::exists((*first)->id()));
}

}  // namespace
}  // namespace cay::providers
