#include "cli/policy_used.h"

#include <gtest/gtest.h>

#include "cay/error.h"

namespace cay::cli {
namespace {

codec::json::object report_of(const std::string& text) { return codec::parse(text)->as_object(); }

std::vector<std::string> texts(const std::vector<Used>& all) {
  std::vector<std::string> out;
  for (const Used& one : all) out.push_back(one.text());
  return out;
}

TEST(PolicyUsedTest, EachHostAndPortOnce) {
  const auto report = report_of(R"({"policy":"open","items":[
    {"host":"a.test","port":0,"verdict":"allowed","reason":"name_not_found","count":1},
    {"host":"b.test","port":443,"verdict":"refused","reason":"not_in_policy","count":2,)"
                                R"("needs":"b.test:443"},
    {"host":"b.test","port":443,"verdict":"allowed","count":3},
    {"host":"b.test","port":0,"verdict":"refused","count":1},
    {"host":"c.test","port":0,"verdict":"refused","count":1},
    {"host":"db","port":0,"verdict":"refused","count":1},
    {"host":"2620:fe::fe","port":53,"verdict":"allowed","count":1},
    {"host":"api.test","port":443,"verdict":"allowed","count":1},
    {"host":"*.test","port":443,"verdict":"allowed","count":1}]})");
  const auto used = used_of(report, {"api.test"});
  EXPECT_EQ(texts(used),
            (std::vector<std::string>{"b.test:443", "c.test", "db:*", "[2620:fe::fe]:53"}));
  EXPECT_EQ(used[0].count, 5U);
  EXPECT_TRUE(used[0].allowed) << "the latest is what holds";
  EXPECT_EQ(texts(used_of(report, {})).size(), 5U) << "the control";
}

TEST(PolicyUsedTest, WhatWasUsedIsSoWhateverAPolicyThenSaid) {
  const auto used = used_of(report_of(R"({"policy":"open","items":[
    {"host":"a.test","port":443,"verdict":"allowed","count":1},
    {"host":"a.test","port":443,"verdict":"refused","reason":"policy_changed","count":1},
    {"host":"b.test","port":443,"verdict":"refused","reason":"not_in_policy",)"
                                      R"("advice":"by now its policy lets it through","count":1},
    {"host":"c.test","port":443,"verdict":"refused","reason":"not_in_policy","needs":"c.test:443",)"
                                      R"("count":1},
    {"host":"10.0.0.1","port":443,"verdict":"refused","reason":"private_address",)"
                                      R"("in_the_way":"special_address","count":1}]})"),
                            {});
  ASSERT_EQ(texts(used),
            (std::vector<std::string>{"a.test:443", "b.test:443", "c.test:443", "10.0.0.1:443"}));
  EXPECT_TRUE(used[0].passes && used[0].allowed && used[1].passes);
  EXPECT_FALSE(used[2].passes || used[3].passes);
}

TEST(PolicyUsedTest, WhetherAllIsLetThrough) {
  EXPECT_TRUE(lets_all_through(report_of(R"({"policy":"open","rules":[]})")));
  EXPECT_TRUE(
      lets_all_through(report_of(R"({"policy":"rules","rules":["default allow","!a.test"]})")));
  EXPECT_FALSE(lets_all_through(report_of(R"({"policy":"rules","rules":["a.test"]})")));
  EXPECT_FALSE(lets_all_through(report_of(R"({"policy":"off","rules":[]})")));
}

TEST(PolicyUsedTest, ATargetIsAHostAPortOrAUrl) {
  const auto is = [](const std::string& text, const std::string& host, std::optional<int> port) {
    const Target got = target_of(text);
    EXPECT_EQ(got.host, host) << text;
    EXPECT_EQ(got.port, port) << text;
  };
  is("a.test", "a.test", std::nullopt);
  is("a.test:8443", "a.test", 8443);
  is("2620:fe::fe", "2620:fe::fe", std::nullopt);
  is("[2620:fe::fe]", "2620:fe::fe", std::nullopt);
  is("[2620:fe::fe]:53", "2620:fe::fe", 53);
  is("https://a.test/", "a.test", 443);
  is("http://a.test/x?y=z:1#w", "a.test", 80);
  is("https://a.test:8443/x", "a.test", 8443);
  is("https://me:word@a.test/x@y", "a.test", 443);
  is("http://[2620:fe::fe]:81/", "2620:fe::fe", 81);
  is("ssh://a.test", "a.test", std::nullopt);
  EXPECT_EQ(target_of("https://a.test/v1/x?y=/z#w").path, "/v1/x");
  EXPECT_EQ(target_of("https://a.test?y=/z").path, "");
  EXPECT_EQ(target_of("a.test:443").path, "");
  EXPECT_THROW(target_of("a.test:web"), ApiError);
}

TEST(PolicyUsedTest, ARuleThatIsOfOneHostAlone) {
  EXPECT_EQ(one_host("a.test")->host, "a.test");
  EXPECT_FALSE(one_host("a.test")->port);
  EXPECT_EQ(one_host("10.2.0.1:1")->port, 1);
  EXPECT_EQ(one_host("[fd00::1]:22")->host, "fd00::1");
  EXPECT_EQ(one_host("db:5432")->host, "db");
  EXPECT_EQ(one_host("http://a.test")->port, 80);
  for (const char* rule :
       {"*.test", "~a.test", "!a.test", "@pip", "pip", "10.0.0.0/8", "a.test:8000-8100", "a.test:*",
        "default allow", "first-match", "a.test,b.test", "https://a.test/"}) {
    EXPECT_FALSE(one_host(rule)) << rule;
  }
}

}  // namespace
}  // namespace cay::cli
