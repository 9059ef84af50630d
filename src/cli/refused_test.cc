#include "cli/refused.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace cay::cli {
namespace {

namespace json = codec::json;

constexpr const char* kBegan = "2026-11-25T10:00:00.500Z";
constexpr const char *kLater = "2026-11-25T10:00:00.500Z", *kEarlier = "2026-11-25T10:00:00.499Z";

json::object line(const std::string& host, int port, const std::string& reason,
                  const std::string& needs, const char* at = kLater) {
  return {{"host", host}, {"port", port},   {"verdict", "refused"}, {"reason", reason},
          {"rule", ""},   {"needs", needs}, {"last_at", at}};
}

json::object report(json::array items, const char* policy = "packages") {
  return {{"policy", policy}, {"rules", json::array{}}, {"items", std::move(items)}};
}

TEST(RefusedTest, OneNameWithWhatWouldAllowIt) {
  const auto told = report({line("pypi.org", 0, "not_in_policy", "pypi.org"),
                            line("pypi.org", 443, "not_in_policy", "pypi.org:443")});
  EXPECT_EQ(refusal_note(told, {kBegan}, {.name = "box"}),
            "meanwhile its policy refused pypi.org (cay net box has more; to allow it: cay "
            "policy set box --add 'pypi.org')");
}

TEST(RefusedTest, APresetThatHasTheHostIsTheCureOnce) {
  auto one = line("nodejs.org", 0, "not_in_policy", "nodejs.org"),
       two = line("x.hf.co", 0, "not_in_policy", "x.hf.co"),
       three = line("y.hf.co", 0, "not_in_policy", "y.hf.co");
  one["preset"] = "node";
  two["preset"] = three["preset"] = "huggingface";
  auto told = report({one, two, three, line("a.test", 0, "not_in_policy", "a.test")});
  EXPECT_EQ(
      refusal_note(told, {kBegan}, {.name = "box"}),
      "meanwhile its policy refused nodejs.org, x.hf.co, y.hf.co, a.test (cay net box has more; "
      "to allow it: cay policy set box --add node --add huggingface --add 'a.test')");
  EXPECT_NE(refusal_note(told, {kBegan}, {.name = "box", .removed = true})
                .find("--policy 'packages,node,huggingface,a.test'"),
            std::string::npos);
  EXPECT_EQ(refused_since(told, kBegan)[0].at("preset").as_string(), "node");
}

TEST(RefusedTest, NothingOfBeforeTheCommandAndNothingThatWasAllowed) {
  auto allowed = line("a.test", 443, "", "");
  allowed["verdict"] = "allowed";
  const auto told = report({line("old.test", 0, "not_in_policy", "old.test", kEarlier), allowed});
  EXPECT_EQ(refusal_note(told, {kBegan}, {.name = "box"}), "");
  EXPECT_TRUE(refused_since(told, kBegan).empty());
  EXPECT_EQ(refusal_note(told, {kEarlier}, {.name = "box"}, "during the command before it")
                .find("during the command before it its policy refused "),
            0U);
  EXPECT_EQ(refusal_note(told, {kEarlier}, {.name = "box"})
                .find("meanwhile its policy refused old.test ("),
            0U)
      << "the control";
}

TEST(RefusedTest, WhatIsRefusedTimeAndAgainIsToldOfTheFirstTimeToo) {
  auto again = line("again.test", 0, "not_in_policy", "again.test", "2026-11-25T10:00:09.000Z");
  again["first_at"] = kEarlier;
  const auto told = report({again});
  EXPECT_NE(refusal_note(told, {.since = kEarlier, .until = kBegan}, {.name = "box"}), "");
  EXPECT_EQ(
      refusal_note(told, {.since = kBegan, .until = "2026-11-25T10:00:08.000Z"}, {.name = "box"}),
      "")
      << "neither time is of that window";
  again["first_at"] = "2026-11-25T10:00:08.500Z";
  EXPECT_EQ(refusal_note(report({again}), {.since = kEarlier, .until = kBegan}, {.name = "box"}),
            "")
      << "the control";
}

TEST(RefusedTest, OfTheCommandBeforeNothingIsToldThatIsMended) {
  const Window before{.since = kEarlier, .until = kBegan};
  auto mended = line("a.test", 0, "not_in_policy", "", kEarlier);
  mended["advice"] = "by now its policy lets it through";
  EXPECT_EQ(refusal_note(report({mended}), before, {.name = "box"}), "");
  EXPECT_NE(refusal_note(report({mended}), {kEarlier}, {.name = "box"}), "")
      << "of this one it is told: it failed by that";
  auto denied = mended;
  denied["in_the_way"] = "denied_by_rule";
  EXPECT_NE(refusal_note(report({denied}), before, {.name = "box"}), "") << "the control";
  EXPECT_NE(refusal_note(report({line("a.test", 0, "not_in_policy", "a.test", kEarlier)}), before,
                         {.name = "box"}),
            "")
      << "the control";
}

TEST(RefusedTest, ManyNamesAreAFewAndANumber) {
  json::array items;
  for (int i = 0; i < 50; ++i)
    items.emplace_back(line("n" + std::to_string(i) + ".test", 0, "not_in_policy",
                            "n" + std::to_string(i) + ".test"));
  const auto told = report(items);
  EXPECT_EQ(refusal_note(told, {kBegan}, {.name = "box"}),
            "meanwhile its policy refused n0.test, n1.test, n2.test, n3.test and 46 more (cay net "
            "box has more; "
            "to allow it: cay policy set box --add 'n0.test' --add 'n1.test' --add 'n2.test' --add "
            "'n3.test')");
  const auto listed = refused_since(told, kBegan);
  ASSERT_EQ(listed.size(), 32U);
  EXPECT_EQ(listed.back().as_object().at("host").as_string(), "n49.test") << "the latest are kept";
}

TEST(RefusedTest, WhatIsNoMatterOfThePolicyIsALineOfItsOwn) {
  auto limit = line("*", 0, "too_many_connections", "");
  const auto told = report({line("10.0.0.7", 5432, "private_address", ""), limit,
                            line("a.test", 0, "not_in_policy", "a.test")});
  const std::string note = refusal_note(told, {kBegan}, {.name = "box"});
  EXPECT_EQ(std::ranges::count(note, '\n'), 1);
  EXPECT_NE(note.find("\nmeanwhile its way out refused what it asked for: "), std::string::npos)
      << note;
  EXPECT_NE(note.find("; and 1 more (cay net box has more)"), std::string::npos) << note;
}

TEST(RefusedTest, OfASandboxThatGoesThePolicyIsForTheNext) {
  auto told = report({line("a.test", 0, "not_in_policy", "a.test")});
  EXPECT_EQ(
      refusal_note(told, {kBegan}, {.name = "box", .removed = true}),
      "meanwhile its policy refused a.test (to allow it: cay run --policy 'packages,a.test' …)");
  told["policy"] = "rules";
  told["rules"] = json::array{"@pip", "b.test"};
  EXPECT_EQ(
      refusal_note(told, {kBegan}, {.name = "box", .removed = true}),
      "meanwhile its policy refused a.test (to allow it: cay run --policy '@pip,b.test,a.test' …)");
  told["rules"] = json::array{"first-match", "!a.test"};
  EXPECT_EQ(refusal_note(told, {kBegan}, {.name = "box", .removed = true}),
            "meanwhile its policy refused a.test");
}

TEST(RefusedTest, WhatAProgramCallsAHostPaintsNoTerminal) {
  const auto told = report({line("a\x1b[31m\n.test", 0, "not_in_policy", "")});
  EXPECT_EQ(refusal_note(told, {kBegan}, {.name = "box"}),
            "meanwhile its policy refused a\\x1b[31m\\x0a.test (cay net box has more)");
}

TEST(RefusedTest, AnAnswerOfAnotherShapeTellsNothing) {
  for (const auto& told : {json::object{}, json::object{{"items", 1}},
                           json::object{{"items", json::array{1, "x", json::object{}}}}}) {
    EXPECT_EQ(refusal_note(told, {kBegan}, {.name = "box"}), "");
    EXPECT_TRUE(refused_since(told, kBegan).empty());
  }
}

}  // namespace
}  // namespace cay::cli
