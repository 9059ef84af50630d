// LauncherTest is the fixture of tests that run a launcher on this machine's kernel.
#pragma once
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>

#include "launcher/testing/running_launcher.h"

namespace cay::launcher::testing {

class LauncherTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0)
      GTEST_SKIP() << "SKIPPED: needs root (it makes namespaces, mounts and cgroups)";
  }
};

inline void expect_nothing_left(const RunningLauncher& launcher) {
  for (const auto& [kind, names] : launcher.traces()) {
    EXPECT_TRUE(names.empty()) << names.size() << " of kind " << kind << ", such as "
                               << names.front();
  }
}

inline double millis_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin)
      .count();
}

}  // namespace cay::launcher::testing
