#include "cli/net_words.h"

#include <gtest/gtest.h>

namespace cay::cli {
namespace {

TEST(NetWordsTest, ARemedyNamesTheSandbox) {
  EXPECT_EQ(for_sandbox("cay policy set SANDBOX --add 'a.test:443'; or, for every sandbox, …", "box"), "cay policy set box --add 'a.test:443'; or, for every sandbox, …");
  EXPECT_EQ(for_sandbox("no rule goes beside it (cay proxy SANDBOX)", "box"), "no rule goes beside it (cay proxy box)");
  EXPECT_EQ(for_sandbox("`cay policy get SANDBOX` lists its rules", "box"), "`cay policy get box` lists its rules");
  EXPECT_EQ(for_sandbox("cay policy set SANDBOX --add 'SANDBOX.test'", "box"), "cay policy set box --add 'SANDBOX.test'");
}

}  // namespace
}  // namespace cay::cli
