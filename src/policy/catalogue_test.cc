#include "policy/catalogue.h"

#include <gtest/gtest.h>

namespace cay::policy {
namespace {

Definition defined(const char* name, const char* rules, bool adds = false) {
  return {.name = name, .about = {}, .rules = *parse_rules(rules), .adds = adds};
}

bool reaches(const Catalogue& catalogue, const Choice& choice, std::string_view host) {
  return catalogue.policy_of(choice)
      ->decide(
          {.names = {}, .shown = host, .address = *IpAddress::parse("198.51.100.7"), .port = 443})
      .allowed();
}

TEST(CatalogueTest, WordsAreANameOrRules) {
  const Catalogue catalogue;
  EXPECT_EQ(*catalogue.choose("packages"), (Choice{"packages"}));
  EXPECT_EQ(*catalogue.choose("@pip"), (Choice{"pip"}));
  EXPECT_EQ(*catalogue.choose("off"), (Choice{"off"}));
  for (const char* empty : {"", " ", ",", "# pip"}) {
    const auto nothing = catalogue.choose(empty);
    ASSERT_FALSE(nothing) << "nobody gets another policy than he wrote";
    EXPECT_NE(nothing.error().message.find("write off"), std::string::npos)
        << nothing.error().message;
  }
  EXPECT_EQ(*catalogue.choose("open"), (Choice{"open"}));
  EXPECT_EQ(*catalogue.choose("pip, a.test"), (Choice{"rules", "@pip\na.test"}));
  EXPECT_EQ(*catalogue.choose("!pip"), (Choice{"rules", "!@pip"}));
  const auto unknown = catalogue.choose("Packages ");
  EXPECT_TRUE(unknown) << "case and blanks are no matter";
  const auto none = catalogue.choose("pypi");
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().reason, "invalid_policy");
  EXPECT_NE(none.error().message.find("no policy 'pypi'"), std::string::npos);
}

TEST(CatalogueTest, WhatIsNotThereLetsNothingThrough) {
  const Catalogue catalogue;
  for (const Choice& choice : {Choice{"rules", "a b c"}, Choice{"rules"}, Choice{""},
                               Choice{"Open"}, Choice{"gone"}, Choice{"rules", "@gone"}}) {
    EXPECT_FALSE(reaches(catalogue, choice, "pypi.org")) << choice.policy;
    EXPECT_FALSE(catalogue.policy_of(choice)->may_resolve("pypi.org").allowed()) << choice.policy;
  }
  EXPECT_TRUE(reaches(catalogue, Choice{"rules", "@gone\npypi.org"}, "pypi.org")) << "the control";
}

TEST(CatalogueTest, NothingIsAddedToWhatIsNotThere) {
  const auto mistyped = Catalogue::make({defined("modles", "a.test", true)}, {});
  ASSERT_FALSE(mistyped);
  EXPECT_NE(mistyped.error().message.find("no policy 'modles'"), std::string::npos)
      << mistyped.error().message;
  EXPECT_TRUE(Catalogue::make({defined("modles", "a.test")}, {})) << "the control";
}

TEST(CatalogueTest, TheOperatorAddsAndReplacesAndDefines) {
  const auto made = Catalogue::make(
      {defined("corp", "git.corp.test, @later"), defined("later", "later.corp.test"),
       defined("pip", "https://pypi.corp.test", true), defined("git", "git.corp.test")},
      {});
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_TRUE(reaches(*made, {"corp"}, "later.corp.test"));
  EXPECT_TRUE(reaches(*made, {"packages"}, "pypi.corp.test"));
  EXPECT_TRUE(reaches(*made, {"packages"}, "pypi.org"));
  EXPECT_FALSE(reaches(*made, {"packages"}, "github.com"));
  EXPECT_EQ(made->find("git")->origin, NamedPolicy::Origin::kChanged);
  EXPECT_EQ(made->find("corp")->origin, NamedPolicy::Origin::kOperator);
  const auto again = Catalogue::from_texts(made->texts(), {});
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(made->texts().size(), 4U);
  for (const NamedPolicy& one : made->all())
    EXPECT_EQ(again->find(one.name)->policy->rules().text(), one.policy->rules().text());
}

TEST(CatalogueTest, DefinitionsThatCannotBe) {
  for (const char* name : {"", "Corp", "1a", "rules", "off", "open", "default", "a b"})
    EXPECT_FALSE(Catalogue::make({defined(name, "a.test")}, {})) << name;
  const auto circle =
      Catalogue::make({defined("a", "@b"), defined("b", "@c"), defined("c", "x.test, @a")}, {});
  ASSERT_FALSE(circle);
  EXPECT_NE(circle.error().message.find("names itself"), std::string::npos);
  EXPECT_FALSE(Catalogue::make({defined("a", "@gone")}, {}));
  EXPECT_FALSE(Catalogue::make({defined("pip", "@packages", true)}, {})) << "packages names pip";
  EXPECT_FALSE(Catalogue::make({defined("pip", "open, !a.test", true)}, {}));
}

TEST(CatalogueTest, ExpressionsOfNamedPoliciesCountWhereTheyAreNamed) {
  std::string half;
  for (int i = 0; i < 4; ++i) half += "~[a-z0-9-]{1,63}\\.r" + std::to_string(i) + "\\.test\n";
  const auto made =
      Catalogue::make({defined("half", half.c_str()), defined("other", "@half, a.test")}, {});
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_TRUE(made->choose("half, a.test"));
  const auto twice = made->choose("half, other");
  ASSERT_FALSE(twice) << "each is looked at";
  EXPECT_NE(twice.error().message.find("too large together"), std::string::npos)
      << twice.error().message;
  const Choice stored{"rules", "@half\n@other\nx.test"};
  EXPECT_FALSE(reaches(*made, stored, "x.test"))
      << "what was stored before there was a bound lets nothing through";
  EXPECT_TRUE(reaches(*made, Choice{"rules", "@half\nx.test"}, "x.test")) << "the control";
  const auto defining = Catalogue::make(
      {defined("half", half.c_str()), defined("other", ("@half\n" + half).c_str())}, {});
  ASSERT_FALSE(defining);
  EXPECT_NE(defining.error().message.find("policy 'other': its regular expressions"),
            std::string::npos)
      << defining.error().message;
}

class AllowedTest : public ::testing::Test {
 protected:
  static bool allowed(const std::vector<std::string>& by, const std::string& words) {
    static const std::vector<Definition> own = {
        defined("corp", "*.corp.test, 10.1.0.0/16:8000-8100, ~x[0-9]\\.test:443"),
        defined("careful", "a.test, !b.test"), defined("half-open", "open, !b.test")};
    const auto catalogue = Catalogue::make(own, by);
    const auto choice = catalogue->choose(words);
    EXPECT_TRUE(choice) << words;
    const auto checked = catalogue->check_allowed(*choice);
    if (!checked) {
      EXPECT_EQ(checked.error().reason, "policy_not_allowed");
    }
    return checked.has_value();
  }
};

TEST_F(AllowedTest, ANameThatIsListedAndWhatLiesWithin) {
  EXPECT_TRUE(allowed({}, "open"));
  EXPECT_TRUE(allowed({"open"}, "a.test, 10.0.0.0/8"));
  EXPECT_TRUE(allowed({"open"}, "open, !a.test"));
  EXPECT_FALSE(allowed({"open"}, "off")) << "off is a policy like others";
  EXPECT_FALSE(allowed({"packages"}, "open"));
  EXPECT_FALSE(allowed({"packages"}, "open, !a.test"));
  EXPECT_TRUE(allowed({"packages"}, "pip"));
  EXPECT_TRUE(allowed({"packages"}, "pip, git, !github.com"));
  EXPECT_TRUE(allowed({"packages"}, "pypi.org:443"));
  EXPECT_FALSE(allowed({"packages"}, "pypi.org")) << "that is port 80 too";
  EXPECT_TRUE(allowed({"packages"}, "deb.debian.org"));
  EXPECT_FALSE(allowed({"packages"}, "models"));
  EXPECT_TRUE(allowed({"packages", "models"}, "models, pip"));
  EXPECT_FALSE(allowed({"pip"}, "packages"));
}

TEST_F(AllowedTest, NamesNetworksPortsAndExpressions) {
  const std::vector<std::string> corp = {"corp"};
  for (const char* words : {"a.corp.test", "*.b.corp.test", "*.corp.test", "10.1.2.0/24:8000",
                            "10.1.2.3:8000-8100", "~x[0-9]\\.test:443", "x1.test:443"}) {
    EXPECT_TRUE(allowed(corp, words)) << words;
  }
  for (const char* words :
       {"corp.test", "*.test", "a.corp.test:22", "10.1.0.0/16", "10.0.0.0/8:8000",
        "10.1.2.3:7999-8000", "~x[0-9]+\\.test:443", "x11.test:443", "https://a.corp.test:22"}) {
    EXPECT_FALSE(allowed(corp, words)) << words;
  }
  EXPECT_TRUE(allowed({"careful"}, "careful"));
  EXPECT_FALSE(allowed({"careful"}, "a.test"))
      << "what is left of a list after what it refuses is not looked into";
  EXPECT_TRUE(allowed({"half-open"}, "half-open"));
  EXPECT_FALSE(allowed({"half-open"}, "b.test"));
}

}  // namespace
}  // namespace cay::policy
