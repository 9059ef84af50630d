#include "runtime/native/native_capabilities.h"

#include <gtest/gtest.h>

#include "wire/launcher_features.h"

namespace cay::runtime {
namespace {

using Time = NativeCapabilities::Time;
namespace feature = wire::launcher_feature;

wire::Hello listing(std::vector<std::string_view> words) {
  wire::Hello hello;
  hello.features.assign(words.begin(), words.end());
  return hello;
}

wire::Hello of_this_release() {
  wire::Hello hello;
  hello.features.assign(feature::kAll.begin(), feature::kAll.end());
  return hello;
}

TEST(NativeCapabilitiesTest, AllIsAvailableUntilALackIsKnown) {
  const NativeCapabilities unprobed;
  for (const wire::Hello& launcher : {wire::Hello{}, of_this_release()}) {
    const auto all = unprobed.now(launcher, false, Time{});
    for (const auto* one : {&all.programs, &all.tmpfs, &all.path_rules, &all.network, &all.rules,
                            &all.vault, &all.pause, &all.tunnels, &all.disk_limit})
      EXPECT_TRUE(one->available()) << one->missing;
    for (const Profile profile : kProfiles) EXPECT_TRUE(all.profile(profile).available());
  }
}

TEST(NativeCapabilitiesTest, ALauncherLacksWhatItsListLacks) {
  const NativeCapabilities unprobed;
  const auto some = unprobed.now(listing({feature::kPrograms, feature::kProfile}), false, Time{});
  EXPECT_TRUE(some.programs.available());
  EXPECT_TRUE(some.profile(Profile::kStrict).available());
  EXPECT_TRUE(some.profile(Profile::kDefault).available());
  EXPECT_FALSE(some.profile(Profile::kNested).available());
  EXPECT_FALSE(some.network.available());
  EXPECT_FALSE(some.rules.available());
  EXPECT_FALSE(some.vault.available());
  EXPECT_EQ(
      some.tmpfs.missing,
      "the launcher is older than this daemon and makes no file systems in memory: restart it");
  EXPECT_EQ(some.path_rules.missing,
            "the launcher is older than this daemon and makes no path read-only or hidden: "
            "restart it");
  EXPECT_EQ(some.layers.missing,
            "the launcher is older than this daemon and seals no layers: restart it");
  EXPECT_TRUE(unprobed.now(listing({feature::kLayers}), true, Time{}).layers.available());
  const auto open = unprobed.now(listing({feature::kProfile}), true, Time{});
  EXPECT_TRUE(open.profile(Profile::kNested).available());
  EXPECT_FALSE(open.programs.available());
  const auto plain = unprobed.now(listing({feature::kTmpfs}), true, Time{});
  EXPECT_TRUE(plain.profile(Profile::kDefault).available());
  EXPECT_FALSE(plain.profile(Profile::kStrict).available());
  EXPECT_FALSE(plain.profile(Profile::kNested).available());
}

TEST(NativeCapabilitiesTest, WhatAProbeMissedCountsForAWhile) {
  NativeCapabilities probed;
  const Time then = Time{} + std::chrono::hours(1);
  probed.learn({{"program record", false, "no BTF", "", "boot another kernel"},
                {"network", true, "redirected", "", ""},
                {"disk quota", false, "a plain directory", "nothing enforces it", ""}},
               then);
  const auto all = probed.now(of_this_release(), false, then);
  EXPECT_EQ(all.programs.missing, "no BTF: boot another kernel");
  EXPECT_TRUE(all.network.available());
  EXPECT_EQ(all.disk_limit.missing, "a plain directory");
  EXPECT_EQ(all.layers.missing, "a plain directory");  // nothing can be sealed there
  const auto last =
      probed.now(of_this_release(), false, then + NativeCapabilities::kProbeCounts - Millis{1});
  EXPECT_FALSE(last.programs.available());
  const auto later = probed.now(of_this_release(), false, then + NativeCapabilities::kProbeCounts);
  EXPECT_TRUE(later.programs.available());
  EXPECT_TRUE(later.disk_limit.available());
}

}  // namespace
}  // namespace cay::runtime
