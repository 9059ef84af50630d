#include "launcher/dpkg_database.h"

#include <gtest/gtest.h>

#include "launcher/md5.h"

namespace cay::launcher {
namespace {

constexpr const char* kStatus =
    "Package: base\nEssential: yes\nStatus: install ok installed\nPriority: "
    "optional\nArchitecture: amd64\n\n"
    "Package: served\nStatus: hold ok installed\nPriority: optional\nArchitecture: amd64\nDepends: "
    "base (>= 1), gone | base\n"
    "Provides: server (= 1), other\nConffiles:\n /etc/served 00000000000000000000000000000001\n"
    " /etc/old 00000000000000000000000000000002 obsolete\nDescription: a service\n that serves\n\n"
    "Package: plugin\nStatus: install ok triggers-pending\nPriority: extra\nArchitecture: "
    "all\nPre-Depends: served:any\n\n"
    "Package: user\nStatus: install ok installed\nPriority: standard\nArchitecture: "
    "amd64\nDepends: none |\n server (= 1) | plugin\n\n"
    "Package: gone\nStatus: deinstall ok config-files\nArchitecture: amd64\n";

TEST(DpkgDatabaseTest, IsRead) {
  const DpkgDatabase database(kStatus);
  ASSERT_EQ(database.packages.size(), 5U);
  const DpkgPackage& served = database.packages[1];
  EXPECT_EQ(served.name + " " + served.architecture, "served amd64");
  EXPECT_TRUE(served.installed && !served.base);
  EXPECT_EQ(served.conffiles.at("/etc/old"), "00000000000000000000000000000002");
  EXPECT_EQ(served.needs, (std::vector<std::vector<std::size_t>>{{0}, {0}}));
  EXPECT_TRUE(database.packages[0].base && database.packages[3].base);
  EXPECT_TRUE(database.packages[2].installed && !database.packages[4].installed);
  EXPECT_EQ(database.packages[3].needs, (std::vector<std::vector<std::size_t>>{{1, 2}}));
  EXPECT_TRUE(DpkgDatabase("").packages.empty());
  EXPECT_TRUE(DpkgDatabase("no field\n\n\n: x\n").packages.empty());
}

TEST(DpkgDatabaseTest, WhatNeedsAPackageGoesWithIt) {
  const DpkgDatabase database(kStatus);
  EXPECT_EQ(database.with_dependents({false, true, false, false, false}),
            (std::vector<bool>{false, true, true, true, false}));
  EXPECT_EQ(database.with_dependents({false, false, true, false, false}),
            (std::vector<bool>{false, false, true, false, false}));
}

TEST(DpkgDatabaseTest, AStanzaForgetsConffiles) {
  const std::string stanza(DpkgDatabase(kStatus).packages[1].stanza);
  EXPECT_EQ(without_conffiles(stanza, {}), stanza);
  const std::string one = without_conffiles(stanza, {"/etc/served"});
  EXPECT_NE(
      one.find("Conffiles:\n /etc/old 00000000000000000000000000000002 obsolete\nDescription"),
      std::string::npos)
      << one;
  EXPECT_EQ(without_conffiles(stanza, {"/etc/served", "/etc/old"}).find("Conffiles"),
            std::string::npos);
  EXPECT_EQ(without_conffiles("Package: x\nConffiles:\n /etc/a 1\n", {"/etc/b"}),
            "Package: x\nConffiles:\n /etc/a 1\n");
}

TEST(Md5Test, AgreesWithTheStandardsExamples) {  // RFC 1321, A.5
  EXPECT_EQ(md5_hex(""), "d41d8cd98f00b204e9800998ecf8427e");
  EXPECT_EQ(md5_hex("abc"), "900150983cd24fb0d6963f7d28e17f72");
  EXPECT_EQ(
      md5_hex("12345678901234567890123456789012345678901234567890123456789012345678901234567890"),
      "57edf4a22be3c955ac49da2e2107b67a");
  EXPECT_EQ(md5_hex(std::string(56, 'a')), "3b0c8ac703f828b04c6c197006d17218");
}

}  // namespace
}  // namespace cay::launcher
