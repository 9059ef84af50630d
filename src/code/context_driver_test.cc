#include "code/context_driver.h"

#include <gtest/gtest.h>

namespace cay::code {
namespace {

TEST(ContextDriverTest, ALanguageIsFoundByItsNameOrAnAlias) {
  for (const char* name : {"javascript", "js", "node"}) {
    const Driver* driver = driver_of(name);
    ASSERT_NE(driver, nullptr) << name;
    EXPECT_EQ(driver->language, "javascript");
    EXPECT_EQ(driver->argv.front(), driver->program);
  }
  ASSERT_NE(driver_of("py"), nullptr);
  EXPECT_EQ(driver_of("py")->language, "python");
  EXPECT_EQ(driver_of("go"), nullptr) << "a language of programs alone";
  EXPECT_EQ(driver_of(""), nullptr);
}

TEST(ContextDriverTest, AMarkIsReadAsItWasWritten) {
  const auto mark = from_mark(to_mark({.id = "a-1", .generation = 7, .language = "javascript"}));
  ASSERT_TRUE(mark);
  EXPECT_EQ(mark->id, "a-1");
  EXPECT_EQ(mark->generation, 7U);
  EXPECT_EQ(mark->language, "javascript");
  EXPECT_TRUE(mark->env.empty());
  const std::map<std::string, std::string> env{{"A", "with \"quotes\" and\nlines"}, {"B", ""}};
  const ContextMark own{.id = "a", .generation = 1, .language = "python", .env = env};
  const auto again = from_mark(to_mark(own));
  ASSERT_TRUE(again);
  EXPECT_EQ(again->language, "python");
  EXPECT_EQ(again->env, env);
  EXPECT_FALSE(from_mark("context a 1 python {"));
  EXPECT_FALSE(from_mark("context a 1 python {\"A\":1}"));
  EXPECT_FALSE(from_mark("context a-1 0 python")) << "generations begin at 1";
  EXPECT_FALSE(from_mark("context a/1 1 python"));
  EXPECT_FALSE(from_mark("context a-1 1 cobol"));
  EXPECT_FALSE(from_mark("shell a-1 1 python"));
}

}  // namespace
}  // namespace cay::code
