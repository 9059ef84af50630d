#include "cli/net_words.h"

#include <gtest/gtest.h>

namespace cay::cli {
namespace {

TEST(NetWordsTest, ARemedyNamesTheSandbox) {
  EXPECT_EQ(
      for_sandbox("cay policy set SANDBOX --add 'a.test:443'; or, for every sandbox, …", "box"),
      "cay policy set box --add 'a.test:443'; or, for every sandbox, …");
  EXPECT_EQ(for_sandbox("no rule goes beside it (cay proxy SANDBOX)", "box"),
            "no rule goes beside it (cay proxy box)");
  EXPECT_EQ(for_sandbox("`cay policy get SANDBOX` lists its rules", "box"),
            "`cay policy get box` lists its rules");
  EXPECT_EQ(for_sandbox("cay policy set SANDBOX --add 'SANDBOX.test'", "box"),
            "cay policy set box --add 'SANDBOX.test'");
}

TEST(NetWordsTest, ARefusalOfABaseUrlNamesTheProxyRule) {
  sdk::NetworkDecision line;
  line.reason = "token_unknown";
  EXPECT_EQ(words_for(line), "without the token that its proxy rule gives") << "of an older broker";
  line.rule = "model";
  EXPECT_EQ(words_for(line), "without the token that its proxy rule 'model' gives");
  line.reason = "no_such_rule";
  EXPECT_EQ(words_for(line), "it has no proxy rule 'model' of way base_url");
}

}  // namespace
}  // namespace cay::cli
