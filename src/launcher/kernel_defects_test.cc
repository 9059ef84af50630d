#include "launcher/kernel_defects.h"

#include <gtest/gtest.h>

#include <string>

namespace cay::launcher {
namespace {

std::string told(std::string_view release, std::string_view version = "#1 SMP",
                 std::string_view signature = "") {
  const auto found = upstream_version(release, version, signature);
  return found ? std::to_string(found->major) + "." + std::to_string(found->minor) + "." +
                     std::to_string(found->patch)
               : "none";
}

TEST(UpstreamVersionTest, IsKernelOrgsWhereItCanBeKnown) {
  EXPECT_EQ(told("6.18.44-fc-v595"), "6.18.44");
  EXPECT_EQ(told("6.12.1"), "6.12.1");
  EXPECT_EQ(told("6.12.0"), "6.12.0");
  EXPECT_EQ(told("6.1.0-40-amd64", "#1 SMP PREEMPT_DYNAMIC Debian 6.1.153-1 (2025-09-20)"),
            "6.1.153")
      << "Debian's release names its interface";
  EXPECT_EQ(told("6.8.0-49-generic", "#49-Ubuntu SMP", "Ubuntu 6.8.0-49.49-generic 6.8.12"),
            "6.8.12");
  EXPECT_EQ(told("6.12.0-124.8.1.el10_1.x86_64"), "none")
      << "what it was patched with is not in there";
  for (const char* odd : {"", "6", "6.1", "6.1-rc2", "linux", "6..1", "6.x.1"})
    EXPECT_EQ(told(odd), "none") << odd;
}

std::string defects(const KernelVersion& version) {
  std::string all;
  for (const auto& one : known_defects(version)) all += std::string(one.id) + " ";
  return all;
}

TEST(KnownDefectsTest, AreThoseOfTheRunningSeries) {
  EXPECT_EQ(defects({6, 1, 36}), "CVE-2023-3269 CVE-2025-38236 ");
  EXPECT_EQ(defects({6, 1, 37}), "CVE-2025-38236 ");
  EXPECT_EQ(defects({6, 1, 142}), "CVE-2025-38236 CVE-2026-23394 ");
  EXPECT_EQ(defects({6, 12, 82}), "CVE-2026-23394 CVE-2026-43074 ");
  EXPECT_EQ(defects({6, 18, 22}), "CVE-2026-23394 CVE-2026-43074 ");
  EXPECT_EQ(defects({6, 18, 23}), "CVE-2026-43074 ");
  EXPECT_EQ(defects({6, 18, 24}), "");
  EXPECT_EQ(defects({6, 19, 14}), "");
  EXPECT_EQ(defects({7, 0, 3}), "");
}

}  // namespace
}  // namespace cay::launcher
