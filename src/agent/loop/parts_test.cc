#include <gtest/gtest.h>

#include "agent/loop/approvals.h"
#include "agent/loop/instructions.h"
#include "agent/loop/schema.h"

namespace cay::agent {
namespace {

codec::json::object object(const char* text) { return *codec::parse_object(text); }

ToolSpec tool_with(std::string name, std::initializer_list<const char*> parameters) {
  codec::json::object known;
  for (const char* each : parameters) known[each] = codec::json::object{};
  return {.name = std::move(name), .description = {}, .parameters = {{"properties", known}}};
}
const ToolSpec kExecute = tool_with("execute", {"command", "timeout"});
const ToolSpec kWriteFile = tool_with("write_file", {"file_path", "content"});

TEST(ApprovalRulesTest, ACallCannotHideTheArgumentThatCounts) {
  const std::vector<ApprovalRule> rules{{"write_file", "/etc/*", Verdict::kDeny},
                                        {"write_file", "/tmp/*", Verdict::kAllow},
                                        {"write_file", "", Verdict::kAsk}};
  const auto of = [&](const char* arguments, const char* base = "/") {
    return verdict_of(rules, kWriteFile, object(arguments), base);
  };
  EXPECT_EQ(of(R"({"file_path":"/etc/x"})"), Verdict::kDeny);
  EXPECT_EQ(of(R"({"file_path":"/etc/x","command":"harmless"})"), Verdict::kDeny);
  EXPECT_EQ(of(R"({"file_path":"//etc/./x"})"), Verdict::kDeny);
  EXPECT_EQ(of(R"({"file_path":"etc/x"})"), Verdict::kDeny);
  EXPECT_EQ(of(R"({"file_path":"x"})", "/etc"), Verdict::kDeny);
  EXPECT_EQ(of(R"({"file_path":"/srv/x","command":"/tmp/a"})"), Verdict::kAsk);
  EXPECT_EQ(of(R"({"file_path":"/tmp/x","path":"/etc/x"})"), Verdict::kAllow);
  EXPECT_EQ(of(R"({"file_path":"/tmp/../etc/x"})"), Verdict::kAllow) << "the tool refuses it";
}

TEST(ApprovalRulesTest, TheFirstRuleThatMatchesDecides) {
  const std::vector<ApprovalRule> rules{{"execute", "git *", Verdict::kAllow},
                                        {"execute", "*curl*", Verdict::kDeny},
                                        {"write_*", "/etc/*", Verdict::kAsk},
                                        {"execute", "", Verdict::kAsk}};
  const auto of = [&](const ToolSpec& tool, const char* arguments) {
    return verdict_of(rules, tool, object(arguments));
  };
  EXPECT_EQ(of(kExecute, R"({"command":"git status"})"), Verdict::kAllow);
  EXPECT_EQ(of(kExecute, R"({"command":"curl x"})"), Verdict::kDeny);
  EXPECT_EQ(of(kExecute, R"({"command":"ls"})"), Verdict::kAsk);
  EXPECT_EQ(of(kWriteFile, R"({"file_path":"/etc/x","content":"c"})"), Verdict::kAsk);
  EXPECT_EQ(of(kWriteFile, R"({"file_path":"/tmp/x","content":"/etc/"})"), Verdict::kAllow);
  EXPECT_EQ(of(tool_with("ls", {"path"}), "{}"), Verdict::kAllow);
}

TEST(ApprovalRulesTest, AnAllowedPrefixDoesNotAllowASecondCommand) {
  const std::vector<ApprovalRule> rules{{"execute", "git *", Verdict::kAllow},
                                        {"execute", "", Verdict::kAsk}};
  for (const char* line : {"git log; rm -r /", "git log && id", "git log | sh", "git log > /x",
                           "git log\nid", "git `id`", "git $(id)"}) {
    codec::json::object arguments;
    arguments["command"] = line;
    EXPECT_EQ(verdict_of(rules, kExecute, arguments), Verdict::kAsk) << line;
  }
}

TEST(ApprovalRulesTest, Wildcards) {
  EXPECT_TRUE(matches_wildcard("*", ""));
  EXPECT_TRUE(matches_wildcard("a*b*c", "axxbyyc"));
  EXPECT_TRUE(matches_wildcard("a?c", "abc"));
  EXPECT_FALSE(matches_wildcard("a?c", "ac"));
  EXPECT_FALSE(matches_wildcard("a*b", "axxbx"));
  EXPECT_FALSE(matches_wildcard("", "x"));
}

TEST(SkillTest, ItsFrontMatterHasItsRules) {
  const auto read = [](const char* text) { return skill_of(text, "web-search", "/p"); };
  const auto good = read("---\nname: web-search\ndescription: >\n  Finds\n  pages.\n---\nbody");
  ASSERT_TRUE(good);
  EXPECT_EQ(good->description, "Finds pages.");
  const auto quoted = read("---\nname: \"web-search\"\ndescription: 'a: b'\nlicense: MIT\n---\n");
  ASSERT_TRUE(quoted);
  EXPECT_EQ(quoted->description, "a: b");
  EXPECT_FALSE(read("name: web-search\ndescription: x\n"));
  EXPECT_FALSE(read("---\nname: web-searches\ndescription: x\n---\n"));
  EXPECT_FALSE(read("---\nname: web-search\n---\n"));
  EXPECT_FALSE(skill_of("---\nname: Web\ndescription: x\n---\n", "Web", "/p"));
  EXPECT_FALSE(skill_of("---\nname: a--b\ndescription: x\n---\n", "a--b", "/p"));
}

TEST(SchemaTest, TheFirstFaultIsNamedWithItsPlace) {
  const auto schema = object(R"({"type":"object","required":["name","tags"],
      "additionalProperties":false,"properties":{"name":{"type":"string","minLength":1},
      "tags":{"type":"array","items":{"enum":["a","b"]}},"n":{"type":["integer","null"]}}})");
  const auto fault = [&](const char* text) {
    return schema_fault(schema, *codec::parse(text)).value_or("");
  };
  EXPECT_EQ(fault(R"({"name":"x","tags":["a"],"n":2.0})"), "");
  EXPECT_EQ(fault(R"({"name":"x"})"), "$.tags: it is missing");
  EXPECT_EQ(fault(R"({"name":"","tags":[]})"), "$.name: too small");
  EXPECT_EQ(fault(R"({"name":"x","tags":["c"]})"), R"($.tags[0]: it is none of ["a","b"])");
  EXPECT_EQ(fault(R"({"name":"x","tags":[],"z":1})"), "$.z: it is not allowed");
  EXPECT_EQ(fault(R"({"name":"x","tags":[],"n":1.5})"),
            R"($.n: its type is not ["integer","null"])");
  EXPECT_EQ(fault("[]"), R"($: its type is not "object")");
}

TEST(SchemaTest, AnAnswerMayBeInAFence) {
  EXPECT_TRUE(json_of_answer("{\"a\":1}"));
  EXPECT_TRUE(json_of_answer("Here it is:\n```json\n{\"a\":1}\n```\nDone."));
  EXPECT_FALSE(json_of_answer("It is 1."));
}

}  // namespace
}  // namespace cay::agent
