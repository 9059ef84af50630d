#include "code/plan.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace cay::code {
namespace {

const std::string kId = "0f0c2a0e-0000-4a43-9a55-0f6a8f0f3b14";

RunRequest asked(std::string language, std::string code = "x") {
  return {.language = std::move(language), .code = std::move(code)};
}

std::string reason(const RunRequest& request) {
  const auto got = plan(request, kId);
  return got ? "" : got.error().reason + ": " + got.error().message;
}

TEST(PlanTest, AScriptIsWrittenAndRun) {
  RunRequest request = asked("py", "print(1)");
  request.args = {"a b", "$c"};
  request.run.env["A"] = "1";
  request.timeout_ms = 5000;
  const Plan got = *plan(request, kId);
  EXPECT_EQ(got.language->name, "python");
  EXPECT_EQ(got.directory, "/tmp/cay-code-" + kId);
  ASSERT_EQ(got.files.size(), 2U);
  EXPECT_EQ(got.files[0].path, "main.py");
  EXPECT_EQ(got.files[0].bytes, "print(1)");
  EXPECT_EQ(got.files[1].path, "cay_plots.py");
  EXPECT_FALSE(got.install);
  EXPECT_FALSE(got.compile);
  EXPECT_EQ(got.run.timeout_ms, 5000);
  EXPECT_TRUE(got.run.end_tree);
  EXPECT_TRUE(got.run.kill_on_disconnect);
  EXPECT_TRUE(got.run.close_stdin);
  EXPECT_EQ(got.run.run.env.at("A"), "1");
  const std::vector<std::string> tail(got.run.argv.begin() + 3, got.run.argv.end());
  const std::vector<std::string> want{"cay-code", got.directory, "main.py", "", "a b", "$c"};
  EXPECT_EQ(tail, want);
}

TEST(PlanTest, ACompiledLanguageHasItsOwnPhaseAndTime) {
  RunRequest request = asked("java", "public class A { static void main(String[] a) {} }");
  request.timeout_ms = 1000;
  const Plan got = *plan(request, kId);
  ASSERT_TRUE(got.compile);
  EXPECT_EQ(got.compile->timeout_ms, kLongestPreparation);
  EXPECT_EQ(got.files[0].path, "A.java");
  EXPECT_EQ(got.run.argv[6], "A");
}

// Text of the caller is an argument or a file, never a part of a script.
TEST(PlanTest, NoWordOfTheCallerIsInAScript) {
  RunRequest request = asked("python", "planted-code");
  request.args = {"planted-arg"};
  request.stdin_bytes = "planted-stdin";
  request.libraries = {"planted-library"};
  const Plan got = *plan(request, kId);
  for (const CommandSpec* spec : {&got.prepare, &*got.install, &got.run})
    EXPECT_EQ(spec->argv[2].find("planted"), std::string::npos) << spec->argv[2];
  EXPECT_EQ(got.install->argv.back(), "planted-library");
  EXPECT_EQ(got.files.back().path, "stdin");
  EXPECT_EQ(got.files.back().bytes, "planted-stdin");
  EXPECT_NE(got.run.argv[2].find("exec <\"$D/stdin\""), std::string::npos);
}

TEST(PlanTest, ARequestThatCannotWorkIsRefused) {
  EXPECT_EQ(reason(asked("python")), "");
  EXPECT_NE(reason(asked("cobol")).find("unknown_language"), std::string::npos);
  EXPECT_NE(reason(asked("cobol")).find("python, java, javascript, cpp, go, ruby"),
            std::string::npos);
  EXPECT_NE(reason(asked("python", "")).find("code: is needed"), std::string::npos);
  RunRequest request = asked("cpp");
  request.libraries = {"boost"};
  EXPECT_NE(reason(request).find("libraries_unsupported"), std::string::npos);
  EXPECT_NE(reason(request).find("cay snapshot build --debian"), std::string::npos);
  for (const char* bad : {"", "-r", "--index-url=x", "a b", "a;b", "$(x)", "a\nb", "'"}) {
    request = asked("python");
    request.libraries = {bad};
    EXPECT_NE(reason(request).find("invalid_field"), std::string::npos) << bad;
  }
  for (const char* good : {"numpy", "numpy==1.26.*", "requests[socks]>=2,<3", "@types/node@20",
                           "github.com/google/uuid@v1.6.0", "rake:13.0"}) {
    request = asked("python");
    request.libraries = {good};
    EXPECT_EQ(reason(request), "") << good;
  }
  request = asked("python");
  request.timeout_ms = 0;
  EXPECT_NE(reason(request).find("timeout_s"), std::string::npos);
}

TEST(PlanTest, OnlyKnownWordsOfThePreparationCount) {
  const Language& javascript = *find_language("javascript");
  auto got = read_preparation(javascript, "missing node\nmissing everything\nnoise\nmissing npm");
  EXPECT_EQ(got.missing, (std::vector<std::string>{"node", "npm"}));
  EXPECT_FALSE(got.installed);
  got = read_preparation(javascript, "installed\n");
  EXPECT_TRUE(got.missing.empty());
  EXPECT_TRUE(got.installed);
  EXPECT_TRUE(read_preparation(javascript, "").missing.empty());
}

TEST(PlanTest, TheErrorNamesWhatHasTheToolchain) {
  const Error got = toolchain_missing(*find_language("go"), {"go"});
  EXPECT_EQ(got.reason, "toolchain_missing");
  for (const char* part : {"the program go,", "apt-get install golang-go",
                           "cay snapshot build --debian golang-go -t go", "golang:1.23"})
    EXPECT_NE(got.message.find(part), std::string::npos) << got.message;
  EXPECT_NE(
      toolchain_missing(*find_language("javascript"), {"npm"}).message.find("apt-get install npm"),
      std::string::npos);
  EXPECT_NE(toolchain_missing(*find_language("js"), {"node", "npm"})
                .message.find("--debian nodejs,npm -t javascript"),
            std::string::npos);
  const Error java = toolchain_missing(*find_language("java"), {"javac", "java"});
  EXPECT_NE(java.message.find("`RUN apt-get install -y default-jdk-headless`"), std::string::npos);
  EXPECT_EQ(java.message.find("--debian"), std::string::npos);
}

}  // namespace
}  // namespace cay::code
