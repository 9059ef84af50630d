#include "agent/tools/permission_mounts.h"

#include <gtest/gtest.h>

namespace cay::agent {
namespace {

using providers::PathRules;
using Rules = std::vector<FilesystemPermission>;
using enum FileOperation;
using enum FileVerdict;

std::string refusal(const Rules& rules) {
  const auto got = mounts_of(rules);
  return got ? std::string() : got.error().reason + ": " + got.error().message;
}

TEST(PermissionMountsTest, ADenialIsAMount) {
  const auto got =
      mounts_of({{{kRead, kWrite}, {"/secrets/**", "/srv/{.env,key}"}, kDeny},
                 {{kWrite}, {"/repo/vendor/**", "/repo/vendor/deep", "/srv/.env"}, kDeny},
                 {{kRead, kWrite}, {"/repo/vendor/private/", "/secrets/more/**"}, kDeny}});
  ASSERT_TRUE(got) << got.error().message;
  EXPECT_EQ(got->hidden, (std::vector<std::string>{"/repo/vendor/private", "/secrets", "/srv/.env",
                                                   "/srv/key"}));
  EXPECT_EQ(got->read_only, (std::vector<std::string>{"/repo/vendor"}));
  EXPECT_TRUE(mounts_of({})->empty());
}

TEST(PermissionMountsTest, TwoRulesTogetherHide) {
  const auto got = mounts_of({{{kWrite}, {"/a/**"}, kDeny}, {{kRead}, {"/a/b/**"}, kDeny}});
  ASSERT_TRUE(got) << got.error().message;
  EXPECT_EQ(*got, (PathRules{{"/a"}, {"/a/b"}}));
}

TEST(PermissionMountsTest, OnlyPathsOfRulesOnThemCount) {
  EXPECT_EQ(*mounts_of(rules_on({"/repo"}, {"/secrets"})), (PathRules{{"/repo"}, {"/secrets"}}));
}

TEST(PermissionMountsTest, WhatNoMountHoldsIsRefusedByName) {
  const std::vector<FileOperation> both{kRead, kWrite};
  for (const char* pattern : {"/srv/*.key", "/srv/**/private", "/s?v/**", "/[ab]", "/**", "/"}) {
    const std::string said = refusal({{both, {pattern}, kDeny}});
    EXPECT_TRUE(said.starts_with("permissions_need_mounts: the file rule on '")) << said;
    EXPECT_NE(said.find(pattern), std::string::npos) << said;
  }
  EXPECT_NE(refusal({{{kRead}, {"/a/**"}, kDeny}}).find("reading alone"), std::string::npos);
  EXPECT_NE(refusal({{both, {"/a/**"}, kAsk}}).find("asks"), std::string::npos);
  EXPECT_TRUE(refusal({{both, {"work"}, kDeny}}).starts_with("invalid_permission"));
}

TEST(PermissionMountsTest, AnExceptionBeforeADenialIsNoMount) {
  const FilesystemPermission denial{{kWrite}, {"/repo/**"}, kDeny};
  for (const char* pattern : {"/repo/out/**", "/**", "/{repo,x}/out", "/repo/*.txt"}) {
    EXPECT_NE(refusal({{{kWrite}, {pattern}, kAllow}, denial}).find("exception"), std::string::npos)
        << pattern;
  }
  EXPECT_EQ(refusal({{{kWrite}, {"/other/**"}, kAllow}, denial}), "");
  EXPECT_EQ(refusal({{{kRead}, {"/repo/out/**"}, kAllow}, denial}), "");
  EXPECT_EQ(refusal({denial, {{kWrite}, {"/repo/out/**"}, kAllow}}), "") << "it comes too late";
}

TEST(PermissionMountsTest, ASandboxHoldsWhatItCoversAtLeast) {
  const PathRules held{{"/repo"}, {"/secrets"}};
  EXPECT_EQ(first_not_held({{"/repo/vendor", "/secrets/x"}, {"/secrets/deep"}}, held), "");
  EXPECT_EQ(first_not_held({{}, {"/repo"}}, held), "/repo");
  EXPECT_EQ(first_not_held({{"/reports"}, {}}, held), "/reports");
}

}  // namespace
}  // namespace cay::agent
