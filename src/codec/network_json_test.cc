#include "codec/network_json.h"

#include <gtest/gtest.h>

namespace cay::codec {
namespace {

NetworkDecision refused(const char* reason, const char* needs, const char* rule = "") {
  NetworkDecision out;
  out.host = "a.test";
  out.port = 443;
  out.reason = reason;
  out.needs = needs;
  out.rule = rule;
  return out;
}

TEST(RemedyTest, TheDaemonsSettingsAreNamedWhereTheyAreAddedToThePolicy) {
  EXPECT_EQ(
      remedy_for(refused("not_in_policy", "a.test:443"), true),
      "cay policy set SANDBOX --add 'a.test:443'; or, for every sandbox, add \"a.test:443\" to "
      "network.hosts in the daemon's settings");
  EXPECT_EQ(remedy_for(refused("not_in_policy", "a.test:443"), false),
            "cay policy set SANDBOX --add 'a.test:443'");
}

TEST(RemedyTest, ARuleThatIsNoMoreIsNotToBeRemoved) {
  EXPECT_EQ(remedy_for(refused("denied_by_rule", "a.test:443", "!a.test"), false),
            "cay policy set SANDBOX --add 'a.test:443'");
  NetworkDecision by_now = refused("denied_by_rule", "", "!a.test");
  by_now.advice = "by now its policy lets it through";
  EXPECT_EQ(remedy_for(by_now, true), "");
}

}  // namespace
}  // namespace cay::codec
