#include "cli/proxy_rules.h"

#include <gtest/gtest.h>

#include "cay/error.h"
#include "cli/parse.h"

namespace cay::cli {
namespace {

std::string written(const RuleArgs& args) { return codec::write(rules_of(args)); }

std::string complaint(const RuleArgs& args) {
  try {
    static_cast<void>(rules_of(args));
  } catch (const ApiError& error) {
    return error.what();
  }
  return "";
}

RuleArgs using_(const std::string& use) {
  RuleArgs out;
  out.uses = {use};
  return out;
}

TEST(ProxyRulesTest, AUseIsASecretAndAWay) {
  EXPECT_EQ(written(using_("mine")), R"([{"secret":"mine"}])");
  EXPECT_EQ(written(using_("mine=placeholder")), R"([{"secret":"mine","way":"placeholder"}])");
  EXPECT_NE(complaint(using_("mine=elsewhere")).find("anthropic, github, openai"),
            std::string::npos);
}

TEST(ProxyRulesTest, KnownApisLeadTheirClients) {
  EXPECT_EQ(written(using_("openai")),
            R"([{"name":"openai","secret":"openai","way":"base_url","hosts":["api.openai.com"],)"
            R"("headers":[{"name":"Authorization","value":"Bearer ${SECRET}"}],)"
            R"("env":{"OPENAI_BASE_URL":"${BASE_URL}/v1","OPENAI_API_KEY":"${TOKEN}"}}])");
  EXPECT_EQ(written(using_("work=anthropic")),
            R"([{"name":"work","secret":"work","way":"base_url","hosts":["api.anthropic.com"],)"
            R"("headers":[{"name":"x-api-key","value":"${SECRET}"}],)"
            R"("env":{"ANTHROPIC_BASE_URL":"${BASE_URL}","ANTHROPIC_API_KEY":"${TOKEN}"}}])");
  EXPECT_EQ(written(using_("github")),
            R"([{"name":"github","secret":"github","way":"headers","hosts":["api.github.com"],)"
            R"("headers":[{"name":"Authorization","value":"Bearer ${SECRET}"}],)"
            R"("env":{"GH_TOKEN":"${TOKEN}"}},)"
            R"({"name":"github-git","secret":"github","way":"headers","hosts":["github.com"],)"
            R"("headers":[{"name":"Authorization","basic_user":"x-access-token"}],"env":{}}])");
}

TEST(ProxyRulesTest, AWayThatIsSaidKeepsWhatIsKnownOfTheApi) {
  for (const std::string api : {"openai", "anthropic"})
    EXPECT_EQ(written(using_(api + "=base_url")), written(using_(api)));
  EXPECT_EQ(written(using_("github=headers")), written(using_("github")));
  EXPECT_EQ(written(using_("openai=headers")),
            R"([{"name":"openai","secret":"openai","way":"headers","hosts":["api.openai.com"],)"
            R"("headers":[{"name":"Authorization","value":"Bearer ${SECRET}"}],)"
            R"("env":{"OPENAI_API_KEY":"${TOKEN}"}}])");
  EXPECT_EQ(written(using_("openai=placeholder")),
            R"([{"name":"openai","secret":"openai","way":"placeholder","hosts":["api.openai.com"],)"
            R"("headers":[{"name":"Authorization"}],"env":{"OPENAI_API_KEY":"${TOKEN}"}}])");
  EXPECT_EQ(
      written(using_("anthropic=headers")),
      R"([{"name":"anthropic","secret":"anthropic","way":"headers","hosts":["api.anthropic.com"],)"
      R"("headers":[{"name":"x-api-key","value":"${SECRET}"}],)"
      R"("env":{"ANTHROPIC_API_KEY":"${TOKEN}"}}])");
  EXPECT_EQ(
      written(using_("anthropic=placeholder")),
      R"([{"name":"anthropic","secret":"anthropic","way":"placeholder",)"
      R"("hosts":["api.anthropic.com"],"headers":[],"env":{"ANTHROPIC_API_KEY":"${TOKEN}"}}])");
  EXPECT_EQ(
      written(using_("github=placeholder")),
      R"([{"name":"github","secret":"github","way":"placeholder","hosts":["api.github.com",)"
      R"("github.com"],"headers":[{"name":"Authorization"}],"env":{"GH_TOKEN":"${TOKEN}"}}])");
  EXPECT_NE(complaint(using_("github=base_url"))
                .find("github cannot be used in the way base_url, which its programs do not know: "
                      "headers, placeholder"),
            std::string::npos);
}

TEST(ProxyRulesTest, MethodsAndPathsAreOfAllOfThem) {
  RuleArgs args = using_("mine");
  args.fences = {"api.test"};
  args.methods = {"GET", "POST"};
  args.paths = {"/v1/**"};
  args.rules = {R"({"secret":"own"})", R"([{"secret":"two"}])"};
  EXPECT_EQ(written(args),
            R"([{"secret":"own"},{"secret":"two"},{"secret":"mine","methods":["GET","POST"],)"
            R"("paths":["/v1/**"]},)"
            R"({"hosts":["api.test"],"methods":["GET","POST"],"paths":["/v1/**"]}])");
  EXPECT_NE(
      complaint({.uses = {}, .fences = {}, .methods = {}, .paths = {}, .rules = {"{not json"}}),
      "");
  EXPECT_NE(
      complaint({.uses = {}, .fences = {}, .methods = {}, .paths = {}, .rules = {"/no/such/file"}}),
      "");
}

TEST(ProxyRulesTest, CreateAndRunTakeThem) {
  const auto made = parse({"create", "--use", "openai", "--fence", "api.test", "--method",
                           "GET,POST", "--path", "/v1/**"},
                          {});
  ASSERT_TRUE(made.invocation) << made.err;
  const auto& create = std::any_cast<const CreateCommandArgs&>(made.invocation->args);
  EXPECT_EQ(create.rules.uses, std::vector<std::string>{"openai"});
  EXPECT_EQ(create.rules.methods, (std::vector<std::string>{"GET", "POST"}));
  EXPECT_EQ(with_rules(create.sandbox, create.rules).proxy, written(create.rules));
  EXPECT_EQ(with_rules(create.sandbox, {}).proxy, "");
  sdk::CreateOptions off = create.sandbox;
  off.policy = "off";
  EXPECT_THROW(with_rules(off, create.rules), ApiError) << "it could never work";
  EXPECT_EQ(with_rules(off, {}).policy, "off");
  const auto run = parse({"run", "--proxy", "rule.json", "--use", "mine", "--", "true"}, {});
  ASSERT_TRUE(run.invocation) << run.err;
  EXPECT_EQ(std::any_cast<const RunArgs&>(run.invocation->args).rules.rules,
            std::vector<std::string>{"rule.json"});
  EXPECT_FALSE(parse({"create", "--method", "GET"}, {}).invocation) << "of nothing";
  EXPECT_FALSE(parse({"create", "--fence", "api.test"}, {}).invocation)
      << "of which nothing is said";
  EXPECT_FALSE(parse({"proxy", "box", "--clear", "--use", "mine"}, {}).invocation);
}

}  // namespace
}  // namespace cay::cli
