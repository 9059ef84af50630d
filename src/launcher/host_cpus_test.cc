#include "launcher/host_cpus.h"

#include <gtest/gtest.h>

namespace cay::launcher {
namespace {

HostCpus host_of(std::vector<unsigned> allowed, std::size_t online) {
  HostCpus host;
  host.allowed = std::move(allowed);
  host.online = online;
  for (std::size_t id = 0; id < online; ++id) {
    host.cpuinfo += "processor\t: " + std::to_string(id) + "\nmodel name\t: M\n\n";
  }
  return host;
}

TEST(HostCpusTest, ALimitIsRoundedUpToWholeCpus) {
  const HostCpus host = host_of({0, 1, 2, 3}, 4);
  EXPECT_EQ(guest_cpus(host, 50).ids.size(), 1U);
  EXPECT_EQ(guest_cpus(host, 1000).ids.size(), 1U);
  EXPECT_EQ(guest_cpus(host, 1001).ids.size(), 2U);
  EXPECT_EQ(guest_cpus(host, 4000).ids.size(), 4U);
  EXPECT_EQ(guest_cpus(host, 64'000).ids.size(), 4U);
}

TEST(HostCpusTest, ASmallerSandboxIsShownTheFirstOfThem) {
  const GuestCpus shown = guest_cpus(host_of({0, 1, 2, 3}, 4), 1500);
  EXPECT_EQ(shown.list, "0-1");
  EXPECT_EQ(shown.cpuinfo,
            "processor\t: 0\nmodel name\t: M\n\nprocessor\t: 1\nmodel name\t: M\n\n");
  EXPECT_EQ(shown.ids, (std::vector<unsigned>{0, 1}));
}

TEST(HostCpusTest, TheKernelsFilesStayWhereTheSandboxHasAllCpus) {
  const GuestCpus shown = guest_cpus(host_of({0, 1}, 2), 2000);
  EXPECT_EQ(shown.ids.size(), 2U);
  EXPECT_EQ(shown.list, "");
  EXPECT_EQ(shown.cpuinfo, "");
}

TEST(HostCpusTest, ACpusetBoundsWhatIsShown) {
  const GuestCpus shown = guest_cpus(host_of({2, 3, 5}, 8), 8000);
  EXPECT_EQ(shown.ids.size(), 3U);
  EXPECT_EQ(shown.list, "2-3,5");
}

TEST(HostCpusTest, AFileWithoutParagraphsForCpusIsNotCut) {
  EXPECT_EQ(cpuinfo_of("vendor_id       : IBM/S390\n# processors    : 4\n\n", {0}), "");
}

TEST(HostCpusTest, ThisMachineHasCpus) {
  auto host = HostCpus::read();
  ASSERT_TRUE(host);
  EXPECT_GE(host->online, host->allowed.size());
  EXPECT_FALSE(host->allowed.empty());
}

}  // namespace
}  // namespace cay::launcher
