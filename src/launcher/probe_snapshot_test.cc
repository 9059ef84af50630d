#include "launcher/probe_snapshot.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/testing/temp_dir.h"
#include "base/unique_fd.h"

namespace cay::launcher {
namespace {

namespace fs = std::filesystem;

class ProbeSnapshotTest : public ::testing::Test {
 protected:
  void put(const std::string& path, const std::string& text = "") {
    fs::create_directories((host_ / path).parent_path());
    std::ofstream(host_ / path) << text;
  }
  wire::FeatureMsg feature(const std::string& name) {
    const UniqueFd layers = temp_.open();
    for (auto& one : probe_snapshot(layers.get(), host_.string())) {
      if (one.name == name) return one;
    }
    return {};
  }
  const cay::testing::TempDir temp_{0755};
  const fs::path host_ = temp_.path();
};

TEST_F(ProbeSnapshotTest, WhatTheHostLacksIsSaidWithTheCommandThatAddsIt) {
  put("usr/bin/apt-get");
  put("usr/bin/python3");
  put("usr/bin/git");
  const auto some = feature("programs");
  EXPECT_EQ(some.found, "python3, git");
  EXPECT_EQ(some.fallback,
            "sandboxes have no pip, venv, node, npm, gcc, make, curl, sudo, as the host has none");
  EXPECT_EQ(some.remedy,
            "apt-get install python3-pip python3-venv nodejs npm build-essential curl sudo; then "
            "restart the daemon, for new sandboxes");
  for (const char* path :
       {"usr/bin/pip3", "usr/bin/node", "usr/bin/npm", "usr/bin/gcc", "usr/bin/make",
        "usr/bin/curl", "usr/bin/sudo", "usr/share/python-wheels/pip.whl"}) {
    put(path);
  }
  const auto all = feature("programs");
  EXPECT_EQ(all.fallback + all.remedy, "") << all.fallback;
}

TEST_F(ProbeSnapshotTest, WhatOfUsrLocalIsLeftOutIsNamed) {
  EXPECT_EQ(feature("/usr/local").fallback, "") << "a host without any lacks nothing";
  put("usr/local/bin/node");
  EXPECT_EQ(feature("/usr/local").found, "in sandboxes as on the host");
  EXPECT_EQ(feature("programs").found, "node");
  fs::create_symlink("/opt/python/bin/python3", host_ / "usr/local/bin/python3");
  EXPECT_EQ(feature("/usr/local").fallback,
            "sandboxes lack what these links lead to: python3 (/opt/python/bin/python3)");
  EXPECT_EQ(feature("programs").found, "node");
  fs::rename(host_ / "usr/local", host_ / "elsewhere");
  fs::create_symlink("/elsewhere", host_ / "usr/local");
  EXPECT_EQ(feature("/usr/local").found, "it is a link to /elsewhere");
  EXPECT_EQ(feature("/usr/local").fallback, "sandboxes have nothing of it");
  EXPECT_EQ(feature("programs").found, "none of those that agents use most");
}

TEST_F(ProbeSnapshotTest, AHostWithoutAMirrorIsSaid) {
  EXPECT_EQ(feature("package sources").name, "") << "no apt here";
  put("usr/bin/apt-get");
  put("etc/os-release", "ID=debian\nVERSION_CODENAME=bookworm\n");
  EXPECT_NE(feature("package sources").remedy, "");
  put("etc/apt/sources.list", "deb http://mirror.test/debian bookworm main\n");
  EXPECT_EQ(feature("package sources").remedy, "");
}

}  // namespace
}  // namespace cay::launcher
