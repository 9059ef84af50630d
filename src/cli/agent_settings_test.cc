#include "cli/agent_settings.h"

#include <gtest/gtest.h>

namespace cay::cli {
namespace {

using agent::Verdict;
using Type = agent::Decision::Type;

TEST(AgentSettingsTest, RulesHaveAToolAndAPattern) {
  const auto ask = parse_rule("ask=execute");
  ASSERT_TRUE(ask);
  EXPECT_EQ(ask->tool, "execute");
  EXPECT_EQ(ask->pattern, "");
  EXPECT_EQ(ask->verdict, Verdict::kAsk);
  const auto deny = parse_rule("deny=execute:curl http://x:80/a=b");
  ASSERT_TRUE(deny);
  EXPECT_EQ(deny->pattern, "curl http://x:80/a=b");
  EXPECT_EQ(deny->verdict, Verdict::kDeny);
  EXPECT_EQ(parse_rule("allow")->tool, "*");
  for (const char* wrong : {"", "execute", "ask=", "asks=execute", "ask=:x"})
    EXPECT_FALSE(parse_rule(wrong)) << wrong;
}

TEST(AgentSettingsTest, WithoutASandboxEveryCallWaits) {
  AgentArgs args;
  args.approve = {"allow=read_file"};
  EXPECT_EQ(rules_of(args)->size(), 1U);
  args.sandbox = "local";
  const auto rules = rules_of(args);
  ASSERT_EQ(rules->size(), 2U);
  EXPECT_EQ(rules->at(1).tool, "*");
  EXPECT_EQ(rules->at(1).verdict, Verdict::kAsk);
}

TEST(AgentSettingsTest, DecisionsAreBoundToWhatWasSeen) {
  const std::vector<agent::PendingCall> pending{{"c1", "execute", R"({"command":"a"})"},
                                                {"c2", "execute", R"({"command":"b"})"}};
  const auto all = decisions_of({"approve"}, pending);
  ASSERT_TRUE(all && all->size() == 2);
  EXPECT_EQ(all->at(1).call_id, "c2");
  EXPECT_EQ(all->at(1).seen, R"({"command":"b"})");
  const auto each = decisions_of({"reject=too risky", R"(edit={"command":"c"})"}, pending);
  ASSERT_TRUE(each);
  EXPECT_EQ(each->at(0).type, Type::kReject);
  EXPECT_EQ(each->at(0).message, "too risky");
  EXPECT_EQ(each->at(1).type, Type::kEdit);
  EXPECT_EQ(each->at(1).arguments, R"({"command":"c"})");
  EXPECT_FALSE(decisions_of({"approve", "approve", "approve"}, pending));
  EXPECT_FALSE(decisions_of({"yes"}, pending));
  EXPECT_FALSE(decisions_of({"edit={"}, pending));
  EXPECT_FALSE(decisions_of({"respond"}, pending));
  EXPECT_FALSE(decisions_of({"approve"}, {}));
}

TEST(AgentSettingsTest, ATemperatureIsANumberFrom0To2) {
  EXPECT_EQ(*parse_temperature("0"), 0);
  EXPECT_EQ(*parse_temperature("0.7"), 0.7);
  for (const char* wrong : {"", "warm", "-1", "2.1", "nan", "1x"})
    EXPECT_FALSE(parse_temperature(wrong)) << wrong;
}

TEST(AgentSettingsTest, OptionsAreThoseOfTheLine) {
  AgentArgs args;
  args.tools = {"execute", "ls"};
  args.temperature = 0;
  args.max_retries = 5;
  args.fallback = "anthropic:y";
  args.model = "openai:x";
  args.image = "python:3.12";
  args.limits = {.steps = 3, .tokens = 4, .timeout_s = 1.5};
  const auto options = options_of(args);
  ASSERT_TRUE(options);
  EXPECT_EQ(options->model.model, "openai:x");
  EXPECT_EQ(options->sandbox.snapshot, "python:3.12");
  EXPECT_EQ(options->sandbox.idle_ttl_s, kThreadIdleS);
  EXPECT_EQ(options->limits.steps, 3U);
  EXPECT_EQ(options->limits.time, Millis(1500));
  args.id = "box";
  EXPECT_FALSE(options_of(args)->sandbox.idle_ttl_s) << "whose timers are its owner's";
}

TEST(AgentSettingsTest, ASearchServiceHasAPlaceForTheQuery) {
  AgentArgs args;
  args.search_url = "https://search.example.com/?q={query}";
  args.todos = true;
  ASSERT_TRUE(options_of(args));
  EXPECT_EQ(options_of(args)->built_in.web.search_url, args.search_url);
  EXPECT_TRUE(options_of(args)->todos);
  for (const char* wrong :
       {"https://search.example.com/", "search.example.com/{query}", "https://{query}.example.com/",
        "https://{query}.a/{query}", "file:///{query}"}) {
    args.search_url = wrong;
    EXPECT_EQ(options_of(args).error().reason, "bad_search_url") << wrong;
  }
}

TEST(AgentSettingsTest, CostsAreDollars) {
  AgentArgs priced;
  priced.limits.cost = 0.5;
  EXPECT_EQ(options_of(priced).error().reason, "no_prices");
  EXPECT_NE(options_of(priced).error().message.find("--input-price"), std::string::npos);
  priced.prices.input = 2;
  EXPECT_EQ(options_of(priced).error().reason, "bad_price") << "half of the prices are none";
  priced.prices.output = 8;
  ASSERT_TRUE(options_of(priced));
  EXPECT_EQ(options_of(priced)->model.profile.prices->output, 8);
  EXPECT_EQ(options_of(priced)->limits.cost, 0.5);
  EXPECT_EQ(*parse_price("0"), 0);
  EXPECT_EQ(*parse_price("$2.5"), 2.5);
  for (const char* wrong : {"", "$", "x", "-1", "1x", "nan", "inf"}) {
    EXPECT_FALSE(parse_price(wrong)) << wrong;
  }
  EXPECT_EQ(*parse_cost("0.5"), 0.5);
  EXPECT_EQ(*parse_cost("$2"), 2);
  for (const char* wrong : {"", "$", "x", "0", "-1", "1x", "nan"}) EXPECT_FALSE(parse_cost(wrong));
}

}  // namespace
}  // namespace cay::cli
