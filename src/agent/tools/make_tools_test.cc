// The built-in tools over a sandbox in memory: their texts, faults and bounds.
#include "agent/tools/make_tools.h"

#include <gtest/gtest.h>

#include "agent/tools/tool_text.h"
#include "async/testing.h"
#include "providers/testing/fake_backend.h"

namespace cay::agent {
namespace {

namespace json = codec::json;
using cay::testing::run;
using providers::Executed;
using providers::testing::FakeBackend;

class ToolsTest : public ::testing::Test {
 protected:
  ToolsTest() { make({}); }

  void make(ToolOptions options) { tools = make_tools(box, std::move(options)); }

  Tool* find(std::string_view name) {
    for (const auto& tool : tools) {
      if (tool->spec().name == name) return tool.get();
    }
    return nullptr;
  }
  Result<ToolResult> raw(std::string_view name, json::object arguments, ToolContext context = {}) {
    auto* tool = find(name);
    if (tool == nullptr) return Error{Code::kNotFound, "no_tool", std::string(name), 0};
    return run(loop, tool->run(std::move(arguments), std::move(context)));
  }
  std::string text(std::string_view name, json::object arguments, ToolContext context = {}) {
    last = raw(name, std::move(arguments), std::move(context));
    EXPECT_TRUE(last) << (last ? "" : last.error().message);
    if (!last || last->blocks.empty()) return {};
    const auto* found = std::get_if<Text>(&last->blocks.front());
    return found == nullptr ? std::string() : found->text;
  }
  std::vector<std::string> names() const {
    std::vector<std::string> out;
    for (const auto& tool : tools) out.push_back(tool->spec().name);
    return out;
  }

  asio::io_context loop;
  std::shared_ptr<FakeBackend> box = std::make_shared<FakeBackend>();
  Tools tools;
  Result<ToolResult> last;
};

TEST_F(ToolsTest, HasTheNamesOfDeepagents) {
  EXPECT_EQ(names(),
            (std::vector<std::string>{"ls", "read_file", "write_file", "edit_file", "delete",
                                      "glob", "grep", "execute", "execute_status", "execute_input",
                                      "execute_kill", "run_code"}));
  box->has = {};
  ToolOptions options;
  options.todos = true;
  options.web.hosts = {"example.com"};
  make(options);
  EXPECT_EQ(names(),
            (std::vector<std::string>{"ls", "read_file", "write_file", "edit_file", "delete",
                                      "glob", "grep", "execute", "write_todos", "web_fetch"}));
  EXPECT_EQ(codec::write(find("read_file")->spec().parameters.at("required")), R"(["file_path"])");
}

TEST_F(ToolsTest, ACallIsRepeatedOnlyWhereThatIsSafe) {
  EXPECT_EQ(find("execute")->repeat(), Repeat::kAttach);
  EXPECT_EQ(find("write_file")->repeat(), Repeat::kYes);
  EXPECT_EQ(find("edit_file")->repeat(), Repeat::kNo);
  EXPECT_EQ(find("run_code")->repeat(), Repeat::kNo);
  box->has.attach = false;
  make({});
  EXPECT_EQ(find("execute")->repeat(), Repeat::kNo);
}

TEST_F(ToolsTest, WritesAndReadsWithAGutter) {
  EXPECT_EQ(text("write_file", {{"file_path", "a//./b.txt"}, {"content", "one\n\tTwo\n"}}),
            "Updated file /a/b.txt");
  EXPECT_EQ(text("read_file", {{"file_path", "/a/b.txt"}}), "1  one\n2  \tTwo");
  EXPECT_EQ(text("read_file", {{"file_path", "/a/b.txt"}, {"limit", 1}}),
            "1  one\n\n[Read 1 lines (lines 1-1 of 2 total). 1 lines remain from offset 1.]");
  EXPECT_EQ(text("read_file", {{"file_path", "/a/b.txt"}, {"offset", -3}}),
            "1  one\n2  \tTwo\n\n[Requested offset -3 is before the start of the file; read from "
            "line 1 instead.]");
  EXPECT_EQ(text("read_file", {{"file_path", "/a/b.txt"}, {"offset", 7}}),
            "Error: File '/a/b.txt': Line offset 7 exceeds file length (2 lines)");
  EXPECT_TRUE(last->failed);
  EXPECT_EQ(text("read_file", {{"file_path", "/none"}}), "Error: File '/none': file_not_found");
  box->files["/empty"] = "";
  EXPECT_EQ(text("read_file", {{"file_path", "/empty"}}),
            "System reminder: File exists but has empty contents");
  EXPECT_TRUE(text("read_file", {{"file_path", "/empty"}, {"limit", 0}})
                  .starts_with("System reminder: no lines were read because `limit` was 0."));
  EXPECT_EQ(text("write_file", {{"file_path", "/denied"}, {"content", ""}}),
            "Error: Failed to write file '/denied': permission_denied");
}

TEST_F(ToolsTest, CutsALongReadOnAWholeLine) {
  std::string content;
  for (int i = 0; i < 3000; ++i) content += std::string(60, 'x') + "\n";
  box->files["/long"] = content;
  const auto got = text("read_file", {{"file_path", "/long"}, {"limit", 2500}});
  EXPECT_LE(got.size(), kMostToolText);
  EXPECT_GT(got.size(), kMostToolText - 15'000);
  const auto at = got.find("[Read ");
  ASSERT_NE(at, std::string::npos);
  // The next offset is the last line that is shown.
  const auto count = std::stoul(got.substr(at + 6));
  EXPECT_NE(got.find("\n" + std::to_string(count) + "  x"), std::string::npos);
  EXPECT_EQ(got.find("\n" + std::to_string(count + 1) + "  x"), std::string::npos);
  EXPECT_NE(got.find("remain from offset " + std::to_string(count) + ".]"), std::string::npos);
  box->files["/wide"] = std::string(5001, 'a') + "\nend";
  EXPECT_EQ(text("read_file", {{"file_path", "/wide"}}),
            "  1  " + std::string(5000, 'a') + "\n1.1  a\n  2  end");
}

TEST_F(ToolsTest, RefusesPathsThatLeadElsewhere) {
  for (const char* path : {"/a/../b", "~/x", "C:\\x"}) {
    EXPECT_TRUE(text("read_file", {{"file_path", path}}).starts_with("Error: ")) << path;
    EXPECT_TRUE(last->failed);
  }
  EXPECT_EQ(text("ls", {{"path", "/a/.."}}), "Error: Path traversal not allowed: /a/..");
  EXPECT_EQ(text("ls", {}), "Error: 'path' is required");
  EXPECT_EQ(text("ls", {{"path", 7}}), "Error: 'path' must be a string");
  EXPECT_EQ(text("delete", {{"file_path", "/"}}), "Error: '/' cannot be deleted");
}

TEST_F(ToolsTest, EditsExactTextAndKeepsEndsOfLines) {
  box->files["/f"] = "a\r\nb\r\na\r\n";
  EXPECT_EQ(
      text("edit_file", {{"file_path", "/f"}, {"old_string", "a\nb"}, {"new_string", "x\ny"}}),
      "Successfully replaced 1 instance(s) of the string in '/f'");
  EXPECT_EQ(box->files["/f"], "x\r\ny\r\na\r\n");
  EXPECT_EQ(text("edit_file", {{"file_path", "/f"}, {"old_string", "\n"}, {"new_string", ";"}}),
            "Error: String '\n' appears multiple times. Use replace_all=True to replace all "
            "occurrences.");
  EXPECT_EQ(text("edit_file", {{"file_path", "/f"}, {"old_string", "q"}, {"new_string", "r"}}),
            "Error: String not found in file: 'q'");
  EXPECT_EQ(text("edit_file", {{"file_path", "/g"}, {"old_string", "q"}, {"new_string", "r"}}),
            "Error: File '/g' not found");
  box->files["/bin"] = "\xff\xfe";
  EXPECT_EQ(text("edit_file", {{"file_path", "/bin"}, {"old_string", "q"}, {"new_string", "r"}}),
            "Error: File '/bin' is not a text file");
  box->files["/h"] = "aaa";
  EXPECT_EQ(
      text(
          "edit_file",
          {{"file_path", "/h"}, {"old_string", "a"}, {"new_string", "b"}, {"replace_all", "true"}}),
      "Successfully replaced 3 instance(s) of the string in '/h'");
  EXPECT_EQ(box->files["/h"], "bbb");
}

TEST_F(ToolsTest, ListsAsPythonDoes) {
  EXPECT_EQ(text("ls", {{"path", "/"}}), "No files found");
  box->files["/it's"] = "";
  box->files["/a"] = "";
  EXPECT_EQ(text("ls", {{"path", "/"}}), "['/a', \"/it's\"]");
  for (int i = 0; i < 5000; ++i) box->files["/d/" + std::string(30, 'n') + std::to_string(i)] = "";
  const auto got = text("ls", {{"path", "/d"}});
  EXPECT_LE(got.size(), kMostToolText);
  EXPECT_TRUE(
      got.ends_with("'... [results truncated, try being more specific with your parameters]']"));
  EXPECT_EQ(text("delete", {{"file_path", "/a"}}), "Deleted /a");
  EXPECT_EQ(text("delete", {{"file_path", "/a"}}), "Error: '/a' not found");
}

TEST_F(ToolsTest, ShowsImagesAsTheyAre) {
  box->files["/p.PNG"] = "\x89PNG";
  ASSERT_EQ(text("read_file", {{"file_path", "/p.PNG"}}), "");
  EXPECT_EQ(std::get<Media>(last->blocks.front()), (Media{"image/png", "\x89PNG"}));
  box->files["/big.pdf"] = std::string(512'001, 'x');
  EXPECT_EQ(text("read_file", {{"file_path", "/big.pdf"}}),
            "Error: File '/big.pdf': Binary file exceeds maximum preview size of 512000 bytes");
  ToolOptions options;
  options.sees_images = false;
  make(options);
  EXPECT_TRUE(text("read_file", {{"file_path", "/p.PNG"}}).starts_with("[image/png of 4 bytes"));
  box->files["/data"] = std::string("a\0b", 3);
  EXPECT_TRUE(text("read_file", {{"file_path", "/data"}})
                  .starts_with("Error: File '/data': binary data of 3 bytes"));
}

TEST_F(ToolsTest, ExecuteShowsTheEndOfACommand) {
  box->answer = [](const std::string& line) -> Result<Executed> {
    Executed out;
    out.output = "out of " + line;
    out.state = "exited";
    out.exit_code = line == "true" ? 0 : 2;
    out.truncated = line == "long";
    return out;
  };
  ToolContext context;
  context.execution_id = "thread/call";
  EXPECT_EQ(text("execute", {{"command", "true"}}, context),
            "out of true\n[Command succeeded with exit code 0]");
  EXPECT_EQ(codec::write(last->artifact.at("exit_code")), "0");
  EXPECT_EQ(box->options.back().id, "thread/call");
  EXPECT_EQ(text("execute", {{"command", "false"}}),
            "out of false\n[Command failed with exit code 2]");
  EXPECT_FALSE(last->failed);  // it ran
  EXPECT_EQ(text("execute", {{"command", "long"}}),
            "out of long\n[Command failed with exit code 2]\n[Output was truncated due to size "
            "limits]");
  EXPECT_EQ(text("execute", {{"command", "x"}, {"timeout", -1}}),
            "Error: timeout must be non-negative, got -1.");
  EXPECT_EQ(text("execute", {{"command", "x"}, {"timeout", 3601}}),
            "Error: timeout 3601s exceeds maximum allowed (3600s).");
  box->answer = [](const std::string& line) -> Result<Executed> {
    Executed out;
    out.output = "some";
    out.state = line == "slow" ? "timed_out" : "oom_killed";
    out.reason = "the memory is full";
    return out;
  };
  EXPECT_EQ(
      text("execute", {{"command", "slow"}, {"timeout", 3}}),
      "some\nError: Command timed out after 3 seconds. Use a longer timeout, or run it in the "
      "background.\n[Command failed with exit code 124]");
  EXPECT_EQ(text("execute", {{"command", "large"}}),
            "some\nError: Command ended as oom_killed: the memory is full\n[Command failed with "
            "exit code 137]");
}

TEST_F(ToolsTest, AFaultOfTheInfrastructureIsAnError) {
  box->failure = Error{Code::kLost, "sandbox_lost", "gone", 0};
  for (const char* name :
       {"execute", "ls", "read_file", "write_file", "edit_file", "delete", "glob", "grep"}) {
    const auto got = raw(name, {{"command", "x"},
                                {"path", "/"},
                                {"file_path", "/x"},
                                {"content", ""},
                                {"old_string", "a"},
                                {"new_string", "b"},
                                {"pattern", "x"}});
    ASSERT_FALSE(got) << name;
    EXPECT_EQ(got.error().reason, "sandbox_lost") << name;
  }
}

TEST_F(ToolsTest, BackgroundCommandsAreReadOnFromWhereTheyWere) {
  ToolContext context;
  context.execution_id = "job";
  EXPECT_TRUE(text("execute", {{"command", "serve"}, {"background", true}}, context)
                  .starts_with("Started in the background with id job."));
  EXPECT_EQ(text("execute_status", {{"id", "job"}}),
            "one\n\n[Command is running. Its next output is at offset 4]");
  EXPECT_EQ(text("execute_status", {{"id", "job"}}),
            "two\n\n[Command is running. Its next output is at offset 8]");
  EXPECT_EQ(text("execute_status", {{"id", "job"}}), "\n[Command failed with exit code 5]");
  EXPECT_EQ(text("execute_status", {{"id", "other"}}), "Error: no command other");
  EXPECT_EQ(text("execute_input", {{"id", "job"}}), "Error: give a text, or close: true");
}

TEST_F(ToolsTest, RunsAProgram) {
  EXPECT_EQ(text("run_code", {{"language", "python"}, {"code", "1"}, {"stdin", "in"}}),
            "python:1:in\n[Output file: plot.png]\n[Command succeeded with exit code 0]");
}

TEST_F(ToolsTest, AStoppedProgramHasAnEnd) {
  const auto ended = run(loop, find("run_code")->stop({{"language", "python"}}, {}));
  ASSERT_TRUE(ended && *ended);
  EXPECT_EQ((*ended)->artifact.at("state"), "killed");
  EXPECT_FALSE((*ended)->failed) << "it ran";
}

TEST_F(ToolsTest, TodosAreAWholeList) {
  ToolOptions options;
  options.todos = true;
  make(options);
  json::array list{json::object{{"content", "a"}, {"status", "pending"}}};
  EXPECT_EQ(text("write_todos", {{"todos", list}}),
            R"(Updated todo list to [{"content":"a","status":"pending"}])");
  list[0].get_object()["status"] = "maybe";
  EXPECT_TRUE(text("write_todos", {{"todos", list}}).starts_with("Error: "));
}

TEST_F(ToolsTest, FileRulesNeedASandboxThatBindsItsShell) {
  ToolOptions options;
  options.permissions = {
      {{FileOperation::kRead, FileOperation::kWrite}, {"/secret/**"}, FileVerdict::kDeny}};
  const auto refused = checked_tools(box, options);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().reason, "permissions_need_mounts");
  box->has.hides_paths = true;
  const auto open = checked_tools(box, options);
  ASSERT_FALSE(open);
  EXPECT_EQ(open.error().reason, "permissions_need_mounts");
  EXPECT_NE(open.error().message.find("has no rule on /secret"), std::string::npos);
  box->held.hidden = {"/secret"};
  make(options);
  box->files["/secret/key"] = "canary";
  box->files["/open"] = "x";
  EXPECT_EQ(text("read_file", {{"file_path", "/secret/key"}}),
            "Error: permission denied for read on /secret/key");
  EXPECT_EQ(text("ls", {{"path", "/"}}), "['/open']");
  EXPECT_EQ(text("delete", {{"file_path", "/secret"}}),
            "Error: permission denied for write on /secret");
  EXPECT_EQ(box->files.size(), 2U);
}

TEST(ToolTextTest, ShowsMatchesInThreeWays) {
  providers::Found<providers::Match> found;
  found.entries = {{"/a", 1, "x = 1"}, {"/a", 12, "x = 2"}, {"/b", 3, "x"}};
  EXPECT_EQ(grep_text(found, GrepMode::kFiles, "x"), "/a\n/b");
  EXPECT_EQ(grep_text(found, GrepMode::kContent, "x"), "/a:\n  1: x = 1\n  12: x = 2\n/b:\n  3: x");
  EXPECT_EQ(grep_text(found, GrepMode::kCount, "x"), "/a: 2\n/b: 1");
  EXPECT_EQ(grep_text({}, GrepMode::kFiles, "self.tools"), "No matches found");
  EXPECT_NE(grep_text({}, GrepMode::kFiles, "a|b").find("literal text, not regex"),
            std::string::npos);
  found.truncated = true;
  EXPECT_NE(grep_text(found, GrepMode::kFiles, "x").find("valid but incomplete"),
            std::string::npos);
}

TEST(FilePermissionsTest, TheFirstRuleThatMatchesDecides) {
  const auto rules =
      FilePermissions::create({{{FileOperation::kWrite}, {"/work/{a,b}/**"}, FileVerdict::kAllow},
                               {{FileOperation::kWrite}, {"/**"}, FileVerdict::kDeny},
                               {{FileOperation::kRead}, {"/etc/*"}, FileVerdict::kAsk}});
  ASSERT_TRUE(rules);
  EXPECT_EQ(rules->verdict(FileOperation::kWrite, "/work/a/x/y"), FileVerdict::kAllow);
  EXPECT_EQ(rules->verdict(FileOperation::kWrite, "/work/c"), FileVerdict::kDeny);
  EXPECT_EQ(rules->verdict(FileOperation::kWrite, "/.hidden/x"), FileVerdict::kDeny);
  EXPECT_EQ(rules->verdict(FileOperation::kRead, "/etc/.pw"), FileVerdict::kAsk);
  EXPECT_EQ(rules->verdict(FileOperation::kRead, "/usr"), FileVerdict::kAllow);
  EXPECT_TRUE(rules->asks(FileOperation::kRead, "/", true));
  EXPECT_FALSE(rules->asks(FileOperation::kRead, "/usr", true));
  EXPECT_FALSE(FilePermissions::create({{{}, {"work"}, FileVerdict::kDeny}}));
  EXPECT_FALSE(FilePermissions::create({{{}, {"/a/../b"}, FileVerdict::kDeny}}));
}

}  // namespace
}  // namespace cay::agent
