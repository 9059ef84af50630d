// The package database of a made-up host's snapshot.
#include "launcher/default_snapshot_packages.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/testing/slurp.h"
#include "base/testing/temp_dir.h"
#include "launcher/md5.h"
#include "os/file.h"

namespace cay::launcher {
namespace {

namespace fs = std::filesystem;
using testing::slurp;

class SnapshotPackagesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "needs root, to give files to others: run as root";
    fs::create_directories(host_);
    for (const char* dir : {"etc", "usr/bin", "var/lib/dpkg/info", "var/lib/dpkg/triggers"})
      fs::create_directories(root_ / dir);
    put(root_, "etc/passwd", "root:x:0:0::/:/bin/sh\n");
    put(root_, "etc/group", "root:x:0:\n");
  }

  static void put(const fs::path& top, const std::string& path, const std::string& text,
                  mode_t mode = 0644) {
    fs::create_directories((top / path).parent_path());
    std::ofstream(top / path) << text;
    ASSERT_EQ(chmod((top / path).c_str(), mode), 0);
  }

  // Adds a package with these files; a text that begins with "!" was changed on the host since.
  struct File {
    const char *path, *text;
    bool conffile = false;
    mode_t mode = 0644;
  };
  void add(const std::string& name, const std::string& fields, std::initializer_list<File> files,
           const std::string& script = "") {
    std::string list = "/.\n", sums, conffiles;
    for (const File& file : files) {
      list += "/" + std::string(file.path) + "\n";
      if (file.text == nullptr) {
        fs::create_directories(host_ / file.path);
        continue;
      }
      put(host_, file.path, file.text, file.mode);
      const std::string shipped = file.text[0] == '!' ? file.text + 1 : file.text;
      if (file.conffile) conffiles += " /" + std::string(file.path) + " " + md5_hex(shipped) + "\n";
      if (!file.conffile) sums += md5_hex(shipped) + "  " + file.path + "\n";
    }
    put(host_, "var/lib/dpkg/info/" + name + ".list", list);
    put(host_, "var/lib/dpkg/info/" + name + ".md5sums", sums);
    put(host_, "var/lib/dpkg/info/" + name + ".postinst", script, 0755);
    status_ += "Package: " + name + "\nStatus: install ok installed\nArchitecture: amd64\n" +
               fields + (conffiles.empty() ? "" : "Conffiles:\n" + conffiles) +
               "Description: x\n\n";
  }

  void write() {
    put(host_, "var/lib/dpkg/status", status_);
    const UniqueFd host = *os::open_dir(AT_FDCWD, host_.string());
    const UniqueFd root = *os::open_dir(AT_FDCWD, root_.string());
    const Progress progress = [this](const std::string& line) { said_ += line + "\n"; };
    TreeWriter tree(host.get(), root.get(), progress);
    ASSERT_TRUE(tree.link_tree("usr"));
    const auto written = write_packages(tree, progress);
    ASSERT_TRUE(written) << written.error().message;
  }

  bool knows(const std::string& name) {
    return slurp(root_ / "var/lib/dpkg/status").find("Package: " + name + "\n") !=
           std::string::npos;
  }
  std::string info(const std::string& file) { return slurp(root_ / "var/lib/dpkg/info" / file); }

  const cay::testing::TempDir top_{0755};
  const fs::path host_ = top_.path() + "/host", root_ = top_.path() + "/root";
  std::string status_, said_;
};

TEST_F(SnapshotPackagesTest, WhatDpkgBelievesIsThereIsThere) {
  add("tool", "",
      {{"usr/bin/tool", "tool"},
       {"etc/tool.conf", "its own", true},
       {"etc/changed.conf", "!the admin's", true},
       {"etc/closed.conf", "closed", true, 0600},
       {"etc/tool.d", nullptr},
       {"etc/tool.d/shipped", "shipped"},
       {"etc/tool.d/altered", "!altered"},
       {"etc/apt/sources.list.d/tool.list", "deb http://other.test/ x main", true},
       {"opt/tool/bin", "program"},
       {"var/lib/tool", nullptr}});
  fs::create_directories(root_ / "etc/apt/sources.list.d");
  fs::create_directories(root_ / "opt/tool");
  fs::create_directories(root_ / "var/lib");
  chmod((host_ / "var/lib/tool").c_str(), 0750);
  put(host_, "var/lib/dpkg/info/tool.list",
      slurp(host_ / "var/lib/dpkg/info/tool.list") + "/usr/bin/gone\n/run/tool\n");
  write();
  ASSERT_TRUE(knows("tool")) << said_;
  EXPECT_EQ(slurp(root_ / "etc/tool.conf"), "its own");
  EXPECT_EQ(slurp(root_ / "etc/tool.d/shipped"), "shipped");
  EXPECT_EQ(slurp(root_ / "opt/tool/bin"), "program");
  struct stat state{};
  ASSERT_EQ(stat((root_ / "var/lib/tool").c_str(), &state), 0);
  EXPECT_EQ(state.st_mode & 07777, 0750u);
  for (const char* path : {"etc/changed.conf", "etc/closed.conf", "etc/tool.d/altered",
                           "etc/apt/sources.list.d/tool.list"}) {
    EXPECT_FALSE(fs::exists(root_ / path)) << path;
  }
  EXPECT_EQ(info("tool.list"),
            "/.\n/usr/bin/tool\n/etc/tool.conf\n/etc/tool.d\n/etc/tool.d/shipped\n/opt/tool/bin\n/"
            "var/lib/tool\n");
  EXPECT_EQ(info("tool.md5sums").find("altered"), std::string::npos);
  EXPECT_NE(info("tool.md5sums").find("  etc/tool.d/shipped\n"), std::string::npos);
  const std::string status = slurp(root_ / "var/lib/dpkg/status");
  EXPECT_NE(status.find("Conffiles:\n /etc/tool.conf "), std::string::npos) << status;
  EXPECT_EQ(status.find("changed.conf"), std::string::npos) << status;
}

TEST_F(SnapshotPackagesTest, AServiceThatWasSetUpOnTheHostIsNotInIt) {
  fs::create_directories(root_ / "etc/init.d");
  fs::create_directories(root_ / "var/lib");
  add("base", "Essential: yes\n",
      {{"usr/bin/base", "base"}, {"etc/init.d/base", "base", true}, {"var/lib", nullptr}},
      "adduser base");
  add("db-common", "Depends: base\n", {{"etc/init.d/db", "start", true}, {"var/lib/db", nullptr}},
      "adduser db");
  add("db", "Depends: db-common\n", {{"usr/bin/db", "db"}});
  add("db-client", "Depends: base\nRecommends: db\n", {{"usr/bin/ask", "ask"}});
  add("web", "", {{"usr/lib/systemd/system/web.service", "unit"}, {"etc/web/on", nullptr}});
  put(host_, "etc/web/on/default", "made by its postinst");
  add("plain", "",
      {{"usr/lib/systemd/system/plain.service", "unit"},
       {"etc/plain", nullptr},
       {"etc/init.d/plain", "start", true}},
      "update-rc.d plain defaults");
  put(host_, "etc/plain/.swp", "no state");
  add("words", "", {{"var/lib/words", nullptr}});
  put(host_, "var/lib/words/en.table", "made by a trigger");
  add("bus", "", {{"etc/init.d/bus", "start", true}}, "useradd bus");
  for (int n = 0; n < 20; ++n) add("uses-bus-" + std::to_string(n), "Depends: bus\n", {});
  status_ += "Package: removed\nStatus: deinstall ok config-files\nArchitecture: amd64\n\n";
  put(host_, "var/lib/dpkg/triggers/File",
      "/usr/share/a db-common/noawait\n/usr/share/b db-client\n");
  put(host_, "var/lib/dpkg/statoverride",
      "root nobodys 0755 /usr/bin/x\nroot root 0755 /usr/bin/y\n");
  write();
  for (const char* gone : {"db-common", "db", "web", "words", "removed"}) {
    EXPECT_FALSE(knows(gone)) << gone;
    EXPECT_FALSE(fs::exists(root_ / "var/lib/dpkg/info" / (std::string(gone) + ".list"))) << gone;
  }
  // All need base, nothing set plain up, db-client only recommends db, 20 packages need bus.
  for (const char* stays : {"base", "plain", "db-client", "bus", "uses-bus-3"})
    EXPECT_TRUE(knows(stays)) << stays;
  EXPECT_FALSE(fs::exists(root_ / "etc/init.d/db"));
  EXPECT_EQ(slurp(root_ / "etc/init.d/plain"), "start");
  EXPECT_EQ(slurp(root_ / "usr/bin/db"), "db");  // the program itself is the host's /usr
  EXPECT_NE(said_.find(": db-common, db, web, words\n"), std::string::npos) << said_;
  EXPECT_EQ(slurp(root_ / "var/lib/dpkg/triggers/File"), "/usr/share/b db-client\n");
  EXPECT_EQ(slurp(root_ / "var/lib/dpkg/statoverride"), "root root 0755 /usr/bin/y\n");
}

TEST_F(SnapshotPackagesTest, AHostWithoutDpkgHasNoDatabase) {
  write();
  EXPECT_EQ(slurp(root_ / "var/lib/dpkg/status"), "");
}

}  // namespace
}  // namespace cay::launcher
