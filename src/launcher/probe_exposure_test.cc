#include "launcher/probe_exposure.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "base/testing/temp_dir.h"
#include "base/unique_fd.h"

namespace cay::launcher {
namespace {

namespace fs = std::filesystem;

constexpr uid_t kDaemon = 61234;  // of no account

class ProbeExposureTest : public ::testing::Test {
 protected:
  void put(const std::string& path, const std::string& text = "") {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text;
  }
  std::string modules() const {
    utsname name{};
    ::uname(&name);
    return "lib/modules/" + std::string(name.release) + "/modules.dep";
  }
  UniqueFd listen(const std::string& path, mode_t mode, gid_t group = 0) {
    fs::create_directories((root_ / path).parent_path());
    UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const std::string at = (root_ / path).string();
    std::strncpy(address.sun_path, at.c_str(), sizeof address.sun_path - 1);
    EXPECT_EQ(::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    EXPECT_TRUE(::chown(at.c_str(), 0, group) == 0 && ::chmod(at.c_str(), mode) == 0);
    return fd;
  }
  wire::FeatureMsg feature(const std::string& name) {
    for (auto& one : probe_exposure({.data = data_.string(),
                                     .daemon_uid = kDaemon,
                                     .daemon_gid = kDaemon,
                                     .root = root_.string()})) {
      if (one.name == name) return one;
    }
    return {};
  }
  void SetUp() override { fs::create_directories(data_); }

  const cay::testing::TempDir temp_{0755};
  const fs::path root_ = temp_.path();
  const fs::path data_ = root_ / "state" / "cay";
};

TEST_F(ProbeExposureTest, CryptoSocketsAreToldAndNotLoaded) {
  EXPECT_EQ(feature("crypto sockets").found, "AF_ALG is not in this kernel");
  put(modules(), "kernel/crypto/af_alg.ko.xz:\n");
  auto told = feature("crypto sockets");
  EXPECT_TRUE(told.found.starts_with("AF_ALG is loaded at any process's request")) << told.found;
  EXPECT_NE(told.remedy.find("modprobe.d"), std::string::npos);
  for (const char* line :
       {"install af_alg /bin/false", "blacklist af_alg", "alias net-pf-38 off"}) {
    put("etc/modprobe.d/x.conf", "# a remark\n" + std::string(line) + "\n");
    EXPECT_EQ(feature("crypto sockets").found, "AF_ALG is not loaded, and may not be") << line;
  }
  put("proc/net/protocols",
      "protocol  size sockets  memory press maxhdr\nALG       1024      0      -1   NI       0   "
      "no   yes  n n\n");
  told = feature("crypto sockets");
  EXPECT_TRUE(told.found.starts_with("AF_ALG is in the kernel")) << told.found;
  EXPECT_TRUE(told.ok) << "no hole of ours: sandboxes are refused it";
  EXPECT_NE(told.remedy.find("rmmod af_alg"), std::string::npos);
}

TEST_F(ProbeExposureTest, WhatLooksForModulesIsTold) {
  EXPECT_EQ(feature("module requests").found, "the kernel runs no program to look for modules");
  put("proc/sys/kernel/modprobe", "/sbin/modprobe\n");
  EXPECT_TRUE(feature("module requests").found.starts_with("the kernel runs /sbin/modprobe where"))
      << feature("module requests").found;
  for (const char* way : {"route netlink", "files of no known format", "every profile"}) {
    EXPECT_NE(feature("module requests").found.find(way), std::string::npos)
        << feature("module requests").found;
  }
  EXPECT_NE(feature("module requests").remedy.find("kernel.modprobe=''"), std::string::npos);
  put("proc/sys/kernel/modules_disabled", "1\n");
  EXPECT_EQ(feature("module requests").remedy, "");
  put("proc/sys/kernel/modules_disabled", "0\n");
  put("proc/sys/kernel/modprobe", "\n");
  EXPECT_EQ(feature("module requests").remedy, "");
}

TEST_F(ProbeExposureTest, ASocketOfAContainerEngineThatTheDaemonReachesIsTold) {
  if (::geteuid() != 0) GTEST_SKIP() << "SKIPPED: needs root (it asks as other users)";
  EXPECT_EQ(feature("container engines").found, "no socket of one");
  const UniqueFd engine = listen("run/docker.sock", 0660);
  auto told = feature("container engines");
  EXPECT_TRUE(told.ok) << told.found;
  EXPECT_NE(told.found.find("docker.sock is not for the daemon's user"), std::string::npos)
      << told.found;
  ASSERT_EQ(::chown((root_ / "run/docker.sock").c_str(), 0, kDaemon), 0);
  told = feature("container engines");
  EXPECT_FALSE(told.ok);
  EXPECT_NE(told.found.find("open to the daemon's user"), std::string::npos) << told.found;
  EXPECT_NE(told.remedy.find("group of"), std::string::npos) << told.remedy;
  // By a group that it is a member of.
  ASSERT_EQ(::chown((root_ / "run/docker.sock").c_str(), 0, kDaemon + 1), 0);
  EXPECT_TRUE(feature("container engines").ok);
  put("etc/passwd", "root:x:0:0::/:/bin/sh\ncay:x:61234:61234::/:/bin/sh\n");
  put("etc/group", "docker:x:61235:other,cay\n");
  EXPECT_FALSE(feature("container engines").ok);
  ASSERT_EQ(::chmod((root_ / "run/docker.sock").c_str(), 0666), 0);
  told = feature("container engines");
  EXPECT_FALSE(told.ok);
  EXPECT_NE(told.found.find("open to everybody"), std::string::npos) << told.found;
  EXPECT_NE(told.remedy.find("chmod o-rw"), std::string::npos) << told.remedy;
  // Behind a directory that neither may enter it is nobody's.
  ASSERT_EQ(::chmod((root_ / "run").c_str(), 0700), 0);
  EXPECT_TRUE(feature("container engines").ok);
}

TEST_F(ProbeExposureTest, WhatEverybodyMayWriteIsToldByName) {
  put("state/cay/state.db");
  ASSERT_TRUE(::symlink("/dev/null", (data_ / "link").c_str()) ==
              0);  // its own mode is everybody's, always
  EXPECT_TRUE(feature("data directory").ok) << feature("data directory").found;
  for (const fs::path& open : {data_, data_ / "state.db", root_ / "state"}) {
    struct stat before{};
    ASSERT_EQ(::stat(open.c_str(), &before), 0);
    ASSERT_EQ(::chmod(open.c_str(), before.st_mode | S_IWOTH), 0);
    const auto told = feature("data directory");
    EXPECT_FALSE(told.ok) << open;
    EXPECT_EQ(told.remedy, "chmod o-w " + fs::canonical(open).string());
    ASSERT_EQ(::chmod(open.c_str(), before.st_mode), 0);
  }
  ASSERT_EQ(::chmod((root_ / "state").c_str(), 01777),
            0);  // as /tmp is: nobody renames there what is another's
  EXPECT_TRUE(feature("data directory").ok);
}

}  // namespace
}  // namespace cay::launcher
