// The worked table of the deepagents protocol, and the edges of its rules.
#include "providers/glob_rules.h"

#include <gtest/gtest.h>

#include <vector>

namespace cay::providers {
namespace {

using Paths = std::vector<std::string>;

const Paths kTree{"a.py",       "sub/b.py",     "sub/nested/c.py",         "readme.md",
                  ".hidden.py", ".hidden/x.py", ".github/workflows/ci.yml"};

Paths matches(std::string_view pattern, std::string_view below = "") {
  const auto rule = GlobRule::parse(pattern);
  EXPECT_TRUE(rule) << pattern;
  Paths out;
  if (!rule) return out;
  for (const auto& path : kTree) {
    if (!std::string_view(path).starts_with(below)) continue;
    if (rule->matches(path.substr(below.size()))) out.push_back(path);
  }
  return out;
}

TEST(GlobRuleTest, HasTheWorkedTable) {
  EXPECT_EQ(matches("*.py"), (Paths{"a.py", "sub/b.py", "sub/nested/c.py", ".hidden/x.py"}));
  EXPECT_EQ(matches("**/*.py"), (Paths{"a.py", "sub/b.py", "sub/nested/c.py"}));
  EXPECT_EQ(matches("sub/*.py"), (Paths{"sub/b.py"}));
  EXPECT_EQ(matches("sub/**/*.py"), (Paths{"sub/b.py", "sub/nested/c.py"}));
  EXPECT_EQ(matches("/*.py"), (Paths{"a.py"}));
  EXPECT_EQ(matches("a.py/**"), Paths{});
  EXPECT_EQ(matches("*.py", "sub/"), (Paths{"sub/b.py", "sub/nested/c.py"}));
  EXPECT_EQ(matches("*.yml"), (Paths{".github/workflows/ci.yml"}));
  EXPECT_EQ(matches("**/*.yml"), Paths{});
  EXPECT_EQ(matches(".github/**/*.yml"), (Paths{".github/workflows/ci.yml"}));
  EXPECT_EQ(matches(".hidden.py"), (Paths{".hidden.py"}));
  EXPECT_EQ(matches(".*.py"), (Paths{".hidden.py"}));
  EXPECT_EQ(matches("*"), (Paths{"a.py", "sub/b.py", "sub/nested/c.py", "readme.md", ".hidden/x.py",
                                 ".github/workflows/ci.yml"}));
}

TEST(GlobRuleTest, ExpandsBracesThatNest) {
  EXPECT_EQ(matches("*.{md,p{y,x}}"),
            (Paths{"a.py", "sub/b.py", "sub/nested/c.py", "readme.md", ".hidden/x.py"}));
  EXPECT_EQ(matches("{a,sub/b}.py"), (Paths{"a.py", "sub/b.py"}));
  EXPECT_EQ(*expand_braces("x{a,b{c,d}}", 10), (Paths{"xa", "xbc", "xbd"}));
  EXPECT_EQ(*expand_braces("{one}", 10), (Paths{"{one}"}));
}

TEST(GlobRuleTest, RefusesWhatItCannotServe) {
  EXPECT_EQ(GlobRule::parse("../x").error().reason, "invalid_pattern");
  EXPECT_EQ(GlobRule::parse("").error().reason, "invalid_pattern");
  std::string broad;
  for (int i = 0; i < 10; ++i) broad += "{a,b}";
  EXPECT_EQ(GlobRule::parse(broad).error().reason, "pattern_too_broad");
  EXPECT_EQ(matches("sub/"), Paths{});
}

TEST(GlobRuleTest, MatchesSetsAndCharacters) {
  EXPECT_TRUE(matches_segment("[ab].py", "a.py"));
  EXPECT_FALSE(matches_segment("[!ab].py", "a.py"));
  EXPECT_TRUE(matches_segment("[^x-z].py", "a.py"));
  EXPECT_TRUE(matches_segment("?.py", "\xC3\xA4.py"));
  EXPECT_FALSE(matches_segment("?", "ab"));
  EXPECT_TRUE(matches_segment("[a", "[a"));
  EXPECT_TRUE(matches_segment("a*b*c", "axxbyyc"));
  EXPECT_FALSE(matches_segment("a*b*c", "axxbyy"));
  EXPECT_FALSE(matches_segment("*", ".hidden"));
}

TEST(GlobRuleTest, NarrowsTheSearchByBaseNames) {
  EXPECT_EQ(GlobRule::parse("src/**/*.{h,cc}")->base_names(), (Paths{"*.h", "*.cc"}));
  EXPECT_EQ(GlobRule::parse("src/**")->base_names(), Paths{});
  EXPECT_EQ(GlobRule::parse("[ab].c")->base_names(), Paths{});
}

}  // namespace
}  // namespace cay::providers
