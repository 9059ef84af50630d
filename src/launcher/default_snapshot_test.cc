// The default snapshot of a made-up host: what comes along, what does not, and what a crash leaves.
#include "launcher/default_snapshot.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "base/testing/slurp.h"
#include "base/testing/temp_dir.h"
#include "launcher/default_snapshot_accounts.h"

namespace cay::launcher {
namespace {

namespace fs = std::filesystem;
using testing::slurp;

constexpr const char* kSecret = "hunter2-planted-secret";

struct stat look(const fs::path& path) {
  struct stat info{};
  EXPECT_EQ(lstat(path.c_str(), &info), 0) << path;
  return info;
}

class DefaultSnapshotTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "needs root, to give files to others: run as root";
    fs::create_directory(layers_);
    make_host();
  }

  void put(const std::string& path, const std::string& text, mode_t mode = 0644) {
    fs::create_directories((host_ / path).parent_path());
    std::ofstream(host_ / path) << text;
    ASSERT_EQ(chmod((host_ / path).c_str(), mode), 0);
  }

  void make_host() {
    put("usr/bin/tool", "tool", 0755);
    put("usr/bin/bash", "bash", 0755);
    put("usr/bin/python3", "python", 0755);
    put("usr/bin/pip3", "pip", 0755);
    put("usr/bin/sudo", "sudo", 04755);
    put("usr/bin/pkexec", "pkexec", 04755);
    put("usr/bin/hidden-setuid", kSecret, 04750);
    put("usr/lib/python3.11/EXTERNALLY-MANAGED", "no");
    put("usr/lib/os-release", "ID=debian\nVERSION_CODENAME=bookworm\n");
    put("usr/share/cay-test-secret", kSecret, 0600);
    put("usr/share/closed/inner", kSecret);
    chmod((host_ / "usr/share/closed").c_str(), 0750);
    put("usr/local/bin/own", "own", 0755);
    put("usr/local/bin/python3", "python of the admin's", 0755);
    put("usr/local/go/bin/go", "go", 0755);
    put("usr/local/bin/set-id", "set-id", 04755);
    put("usr/local/sbin/closed", kSecret, 0750);
    for (const char* path :
         {"usr/local/etc/npmrc", "usr/local/etc/app.conf", "usr/local/lib/app/.npmrc",
          "usr/local/lib/app/tls.key", "usr/local/pip.conf", "usr/local/src/app/.git/config"}) {
      put(path, kSecret);
    }
    put("usr/share/ca-certificates/mozilla/A.crt", "CERT A\n");
    fs::create_symlink("../bin/tool", host_ / "usr/share/link");
    fs::create_symlink("/etc/alternatives/editor", host_ / "usr/bin/editor");
    fs::create_symlink("/root/secret", host_ / "usr/share/to-root");
    mkfifo((host_ / "usr/share/fifo").c_str(), 0644);
    for (const char* top : {"bin", "lib"})
      fs::create_symlink("usr/" + std::string(top), host_ / top);

    put("etc/passwd",
        "root:x:0:0:The Boss,,,:/root:/bin/bash\nalice:x:1001:1001:Alice:/home/alice:/bin/zsh\n"
        "messagebus:x:100:102::/nonexistent:/usr/sbin/nologin\nbackupjob:x:990:990::/srv/backup:/"
        "bin/sh\n");
    put("etc/group", "root:x:0:\nsudo:x:27:alice\nwheelies:x:1002:alice\nmessagebus:x:102:\n");
    put("etc/shadow", std::string("root:") + kSecret + ":1:::::\n", 0640);
    fs::create_symlink("../usr/lib/os-release", host_ / "etc/os-release");
    fs::create_directories(host_ / "etc/alternatives");
    fs::create_symlink("/usr/bin/tool", host_ / "etc/alternatives/editor");
    put("etc/profile", "profile");
    put("etc/skel/.bashrc", "bashrc");
    put("etc/ssl/private/host.key", kSecret, 0644);  // readable by mistake: still not taken
    put("etc/ssl/certs/java/cacerts", "certs");
    fs::create_symlink("/usr/share/ca-certificates/mozilla/A.crt", host_ / "etc/ssl/certs/A.pem");
    fs::create_symlink("A.pem", host_ / "etc/ssl/certs/aaaa.0");
    fs::create_symlink("/usr/local/share/ca-certificates/corp.crt",
                       host_ / "etc/ssl/certs/corp.pem");
    fs::create_symlink("corp.pem", host_ / "etc/ssl/certs/cccc.0");
    put("etc/ssl/certs/ca-certificates.crt", "CERT A\nCERT CORP\n");
    put("etc/ca-certificates.conf", "# list\nmozilla/A.crt\n!mozilla/B.crt\n");
    for (const char* path : {"etc/machine-id",
                             "etc/ssh/ssh_host_rsa_key.pub",
                             "etc/environment",
                             "etc/pip.conf",
                             "etc/npmrc",
                             "etc/fstab",
                             "etc/crypttab",
                             "etc/apt/auth.conf.d/x",
                             "etc/apt/apt.conf.d/proxy",
                             "etc/apt/sources.list.d/corp.list",
                             "etc/profile.d/proxy.sh",
                             "etc/NetworkManager/x",
                             "etc/hosts",
                             "etc/resolv.conf",
                             "etc/maven/settings.xml",
                             "etc/java-17-openjdk/management/jmxremote.password",
                             "etc/python3.11/x.key",
                             "root/secret",
                             "home/alice/notes",
                             "var/log/syslog",
                             "var/lib/dpkg/lock-frontend"}) {
      put(path, kSecret);
    }
    put("etc/apt/sources.list", std::string("deb https://user:") + kSecret +
                                    "@corp.test/debian bookworm main\n"
                                    "deb http://mirror.test/debian bookworm main\n");
    put("etc/apt/sources.list.d/closed.list",
        "deb http://closed.test/debian-security bookworm-security main\n", 0640);
    put("etc/java-17-openjdk/security/java.security", "security");
    put("etc/maven/m2.conf", "m2");
    put("var/lib/dpkg/status",
        "Package: tool\nStatus: install ok installed\nArchitecture: amd64\nVersion: 1.0\n\n"
        "Package: gone\nStatus: deinstall ok config-files\nVersion: 9\n");
    put("var/lib/dpkg/info/tool.list", "/usr/bin/tool\n");
  }

  wire::SnapshotMsg build() {
    auto made = build_default_snapshot(layers_.string(),
                                       [this](const std::string& line) { said_.push_back(line); },
                                       {host_.string()});
    EXPECT_TRUE(made) << (made ? "" : made.error().message);
    return made ? *made : wire::SnapshotMsg{};
  }

  const cay::testing::TempDir top_{0755};
  const fs::path host_ = top_.path() + "/host", layers_ = top_.path() + "/layers";
  std::vector<std::string> said_;
};

TEST_F(DefaultSnapshotTest, HoldsWhatProgramsNeed) {
  const wire::SnapshotMsg made = build();
  EXPECT_EQ(made.name, "default");
  EXPECT_EQ(made.status, "ready");
  const fs::path root = layers_ / made.id / "root";
  EXPECT_EQ(slurp(root / "usr/bin/tool"), "tool");
  EXPECT_EQ(look(root / "usr/bin/tool").st_ino,
            look(host_ / "usr/bin/tool").st_ino);  // a link, not a copy
  EXPECT_EQ(fs::read_symlink(root / "bin"), "usr/bin");
  EXPECT_EQ(fs::read_symlink(root / "usr/bin/python"), "python3");
  EXPECT_EQ(fs::read_symlink(root / "usr/bin/pip"), "pip3");
  EXPECT_EQ(fs::read_symlink(root / "etc/alternatives/editor"), "/usr/bin/tool");
  EXPECT_FALSE(fs::exists(root / "usr/lib/python3.11/EXTERNALLY-MANAGED"));
  EXPECT_EQ(slurp(root / "etc/java-17-openjdk/security/java.security"), "security");
  EXPECT_EQ(slurp(root / "etc/maven/m2.conf"), "m2");
  EXPECT_NE(slurp(root / "var/lib/dpkg/status").find("Package: tool"), std::string::npos);
  EXPECT_EQ(slurp(root / "var/lib/dpkg/info/tool.list"), "/usr/bin/tool\n");
  EXPECT_NE(slurp(root / "etc/apt/sources.list.d/debian.sources")
                .find("Suites: bookworm bookworm-updates"),
            std::string::npos);
  const std::string sources = slurp(root / "etc/apt/sources.list.d/debian.sources");
  EXPECT_NE(sources.find("URIs: http://mirror.test/debian\n"), std::string::npos) << sources;
  EXPECT_EQ(sources.find("debian-security"), std::string::npos) << "a list that is not for all";
  EXPECT_EQ(slurp(root / "etc/ssl/certs/ca-certificates.crt"),
            "CERT A\n");  // the distribution's, without the host's own
  EXPECT_TRUE(fs::is_symlink(root / "etc/ssl/certs/aaaa.0"));
  EXPECT_FALSE(fs::is_symlink(root / "etc/ssl/certs/corp.pem"));
  EXPECT_FALSE(fs::is_symlink(root / "etc/ssl/certs/cccc.0"));

  EXPECT_EQ(look(root / "tmp").st_mode & 07777, 01777u);
  EXPECT_EQ(look(root / "var/tmp").st_mode & 07777, 01777u);
  EXPECT_EQ(look(root / "root").st_mode & 07777, 0700u);
  EXPECT_EQ(look(root).st_mode & 07777, 0755u);
  EXPECT_EQ(look(root / "home/user").st_uid, 1000u);
  EXPECT_EQ(slurp(root / "home/user/.bashrc"), "bashrc");
  EXPECT_EQ(look(root / "etc/sudoers").st_mode & 07777, 0440u);
  EXPECT_EQ(look(root / "etc/sudoers.d/90-cay").st_mode & 07777, 0440u);
  for (const char* dir :
       {"proc", "sys", "dev", "run", "opt", "srv", "mnt", "media", "var/lib/apt/lists/partial"})
    EXPECT_TRUE(fs::is_directory(root / dir)) << dir;
}

TEST_F(DefaultSnapshotTest, BuildProgramsAreFoundFirstAndReplaceNobodysOwn) {
  put("usr/local/sbin/buildctl", "an admin's own", 0755);
  fs::path root = layers_ / build().id / "root";
  EXPECT_EQ(slurp(root / "usr/local/sbin/buildctl"), "an admin's own");
  EXPECT_EQ(fs::read_symlink(root / "usr/local/sbin/buildkitd"), "../lib/cay/build");
  EXPECT_TRUE(slurp(root / "usr/local/sbin/buildkitd").starts_with("#!/bin/bash\n"));
  EXPECT_EQ(look(root / "usr/local/lib/cay/build").st_mode & 07777, 0755u);
  EXPECT_FALSE(fs::exists(root / "usr/local/sbin/docker")) << "there is no Docker engine";
  fs::remove(host_ / "usr/local/sbin/buildctl");
  fs::remove(host_ / "usr/bin/bash");
  root = layers_ / build().id / "root";
  EXPECT_FALSE(fs::exists(root / "usr/local/sbin/buildctl"));
}

TEST_F(DefaultSnapshotTest, ToolsAreToldOfMirrors) {
  const fs::path plain = layers_ / build().id / "root";
  EXPECT_FALSE(fs::exists(plain / ".cargo") || fs::exists(plain / "root/.config"));
  EXPECT_NE(slurp(plain / "usr/etc/npmrc").find("fetch-retry-mintimeout=1000\n"),
            std::string::npos);
  wire::PrepareDefault with;
  with.pip_index = "https://mirror.test/pip";
  with.npm_registry = "https://mirror.test/npm";
  with.cargo_index = "https://mirror.test/crates";
  with.go_proxy = "https://mirror.test/go";
  with.apt_archive = "http://archive.corp.test/v2/debian";
  const auto made =
      build_default_snapshot(layers_.string(), [](const std::string&) {}, {host_.string(), with});
  ASSERT_TRUE(made) << made.error().message;
  const fs::path root = layers_ / made->id / "root";
  EXPECT_NE(slurp(root / "etc/pip.conf").find("index-url = https://mirror.test/pip\n"),
            std::string::npos);
  EXPECT_EQ(slurp(root / "etc/pip.conf").find("trusted-host"), std::string::npos);
  EXPECT_NE(slurp(root / "usr/etc/npmrc").find("registry=https://mirror.test/npm\n"),
            std::string::npos);
  EXPECT_EQ(slurp(root / ".cargo/config.toml"),
            "[source.crates-io]\nreplace-with = \"mirror\"\n\n[source.mirror]\nregistry = "
            "\"sparse+https://mirror.test/crates/\"\n");
  for (const char* home : {"root", "home/user", "etc/skel"}) {
    EXPECT_EQ(slurp(root / home / ".config/go/env"), "GOPROXY=https://mirror.test/go,direct\n")
        << home;
  }
  EXPECT_EQ(look(root / "home/user/.config/go/env").st_uid, 1000u);
  const std::string sources = slurp(root / "etc/apt/sources.list.d/debian.sources");
  EXPECT_NE(sources.find("URIs: http://archive.corp.test/v2/debian\n"), std::string::npos)
      << sources;
  EXPECT_EQ(sources.find("mirror.test"), std::string::npos) << sources;
  with.pip_index = "http://mirror.test:8080/pip/simple";
  const auto clear =
      build_default_snapshot(layers_.string(), [](const std::string&) {}, {host_.string(), with});
  ASSERT_TRUE(clear) << clear.error().message;
  EXPECT_NE(
      slurp(layers_ / clear->id / "root/etc/pip.conf")
          .find(
              "index-url = http://mirror.test:8080/pip/simple\ntrusted-host = mirror.test:8080\n"),
      std::string::npos);
  // Settings that are turned back lead to the snapshot that was made with them.
  EXPECT_EQ(layers_ / build().id / "root", plain);
}

TEST_F(DefaultSnapshotTest, LeaksNothing) {
  const wire::SnapshotMsg made = build();
  const fs::path root = layers_ / made.id / "root";
  int files = 0;
  for (const auto& entry : fs::recursive_directory_iterator(root)) {
    const std::string path = entry.path().string();
    ASSERT_TRUE(entry.is_symlink() || entry.is_directory() || entry.is_regular_file())
        << path << " is of a special kind";
    if (!entry.is_regular_file() || entry.is_symlink()) continue;
    ++files;
    EXPECT_EQ(slurp(entry.path()).find(kSecret), std::string::npos) << path;
    EXPECT_EQ(slurp(entry.path()).find("alice"), std::string::npos) << path;
    const auto info = look(entry.path());
    if (info.st_nlink > 1) {  // the host's own file
      EXPECT_NE(info.st_mode & S_IROTH, 0u) << path;
      EXPECT_EQ(info.st_mode & (S_ISUID | S_ISGID), 0u) << path;
    }
  }
  EXPECT_GT(files, 20);  // the walk walked
  EXPECT_FALSE(fs::exists(root / "usr/share/closed"));
  EXPECT_TRUE(
      fs::exists(root / "usr/local/bin/own"));  // the positive control: /usr/local was taken
  EXPECT_FALSE(fs::exists(root / "usr/share/fifo"));
  EXPECT_EQ(slurp(root / "etc/machine-id"), "");
  EXPECT_FALSE(fs::exists(root / "etc/ssl/private/host.key"));
}

TEST_F(DefaultSnapshotTest, UsrLocalComesAlongAndAChangeInItMakesAnother) {
  const wire::SnapshotMsg made = build();
  const fs::path root = layers_ / made.id / "root/usr/local";
  EXPECT_EQ(look(root / "bin/own").st_ino, look(host_ / "usr/local/bin/own").st_ino);
  EXPECT_EQ(fs::read_symlink(root / "bin/python"), "python3");
  EXPECT_EQ(fs::read_symlink(root / "bin/go"), "../go/bin/go");
  EXPECT_EQ(look(root / "bin/set-id").st_mode & 07777, 0755u);
  EXPECT_TRUE(fs::is_empty(root / "etc"));
  EXPECT_TRUE(fs::is_directory(root / "share/ca-certificates"));
  EXPECT_EQ(build().id, made.id);
  fs::create_directory(host_ / "usr/local/bin/__pycache__");
  put("usr/local/etc/app.conf", "not taken, so not looked at");
  EXPECT_EQ(build().id, made.id);
  std::string before = made.id;
  const auto changes = [&](const std::string& what) {
    const std::string now = build().id;
    EXPECT_NE(now, before) << what;
    before = now;
  };
  put("usr/local/bin/new", "new", 0755);
  changes("a new file");
  ASSERT_EQ(chmod((host_ / "usr/local/bin/new").c_str(), 0700), 0);
  changes("a file that is closed");
  EXPECT_FALSE(fs::exists(layers_ / before / "root/usr/local/bin/new"));
  put("usr/local/go/bin/go", "another", 0755);
  changes("other contents");
  fs::rename(host_ / "usr/local", host_ / "elsewhere");
  fs::create_symlink("/elsewhere", host_ / "usr/local");
  changes("a link");
  EXPECT_TRUE(fs::is_directory(fs::symlink_status(layers_ / before / "root/usr/local/bin")));
  EXPECT_FALSE(fs::exists(layers_ / before / "root/usr/local/bin/own"));
}

TEST_F(DefaultSnapshotTest, SetIdProgramsAreCopiesAndOnlyKnownOnesKeepTheBit) {
  ASSERT_EQ(
      setxattr((host_ / "usr/bin/tool").c_str(), "security.capability",
               "\x01\x00\x00\x02\x00\x20\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00",
               20, 0),
      0);
  const wire::SnapshotMsg made = build();
  const fs::path root = layers_ / made.id / "root";
  EXPECT_EQ(look(root / "usr/bin/sudo").st_mode & 07777, 04755u);
  EXPECT_EQ(look(root / "usr/bin/pkexec").st_mode & 07777, 0755u);
  for (const char* path : {"usr/bin/sudo", "usr/bin/pkexec", "usr/bin/tool"}) {
    EXPECT_NE(look(root / path).st_ino, look(host_ / path).st_ino) << path;
    EXPECT_EQ(slurp(root / path), slurp(host_ / path));
  }
  EXPECT_LT(getxattr((root / "usr/bin/tool").c_str(), "security.capability", nullptr, 0), 0);
  EXPECT_FALSE(fs::exists(root / "usr/bin/hidden-setuid"));
}

TEST_F(DefaultSnapshotTest, IsMadeOncePerSetOfPackages) {
  const wire::SnapshotMsg first = build();
  const wire::SnapshotMsg again = build();
  EXPECT_EQ(again.id, first.id);
  EXPECT_EQ(again.used_bytes, first.used_bytes);
  EXPECT_EQ(again.created_at, first.created_at);
  put("var/lib/dpkg/status",
      "Package: tool\nStatus: install ok installed\nArchitecture: amd64\nVersion: 1.1\n");
  const wire::SnapshotMsg upgraded = build();
  EXPECT_NE(upgraded.id, first.id);
  EXPECT_NE(upgraded.fingerprint, first.fingerprint);
  EXPECT_TRUE(fs::exists(layers_ / first.id / "root/usr/bin/tool"));  // sandboxes on it go on
}

TEST_F(DefaultSnapshotTest, APackageUpgradeOnTheHostDoesNotReachIt) {
  const wire::SnapshotMsg made = build();
  put("usr/bin/tool.dpkg-new", "tool 2", 0755);
  fs::rename(host_ / "usr/bin/tool.dpkg-new", host_ / "usr/bin/tool");
  EXPECT_EQ(slurp(layers_ / made.id / "root/usr/bin/tool"), "tool");
}

TEST_F(DefaultSnapshotTest, WhatACrashLeftIsRemoved) {
  fs::create_directories(layers_ / ".building-x/root/usr");
  std::ofstream(layers_ / ".building-x/root/usr/half") << "half";
  fs::create_directories(layers_ / ".removing-y/root/usr");
  std::ofstream(layers_ / ".removing-y/root/usr/rest") << "rest";
  const wire::SnapshotMsg made = build();
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(layers_))
    names.push_back(entry.path().filename());
  EXPECT_EQ(names, std::vector<std::string>{made.id});
}

TEST_F(DefaultSnapshotTest, AHostWithoutUsrIsToldSo) {
  fs::remove_all(host_ / "usr");
  auto made = build_default_snapshot(layers_.string(), [](const std::string&) {}, {host_.string()});
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, Code::kUnsupported);
  EXPECT_TRUE(fs::is_empty(layers_));
}

TEST_F(DefaultSnapshotTest, AnotherFileSystemIsCopied) {
  struct stat shm{};
  if (stat("/dev/shm", &shm) != 0 || shm.st_dev == look(host_).st_dev)
    GTEST_SKIP() << "/dev/shm is no other file system here";
  const fs::path elsewhere = "/dev/shm/cay-snapshot-test-" + std::to_string(getpid());
  fs::create_directory(elsewhere);
  auto made = build_default_snapshot(elsewhere.string(),
                                     [this](const std::string& line) { said_.push_back(line); },
                                     {host_.string()});
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(slurp(elsewhere / made->id / "root/usr/bin/tool"), "tool");
  EXPECT_EQ(look(elsewhere / made->id / "root/usr/bin/tool").st_mode & 07777, 0755u);
  EXPECT_TRUE(std::ranges::any_of(
      said_, [](const std::string& line) { return line.ends_with("copying"); }));
  fs::remove_all(elsewhere);
}

TEST(DefaultSnapshotAccountsTest, PeopleStayOut) {
  const Accounts made = make_accounts(
      "root:*:0:0:root:/root:/bin/bash\n", "root:*:0:\nsudo:*:27:\n",
      "root:x:0:0:Boss:/root:/bin/zsh\nalice:x:1001:1001::/home/alice:/bin/sh\n"
      "postgres:x:101:104:Admin:/var/lib/postgresql:/bin/bash\nuser:x:1000:1000::/h:/s\n"
      "redis:x:5000:5000::/:/bin/sh\nbroken\n::::::\n",
      "alice:x:1001:\npostgres:x:104:alice\n");
  EXPECT_EQ(
      made.passwd,
      "root:x:0:0:root:/root:/bin/bash\npostgres:x:101:104:postgres:/var/lib/postgresql:/bin/bash\n"
      "user:x:1000:1000:user:/home/user:/bin/bash\n");
  EXPECT_EQ(made.group, "root:x:0:\nsudo:x:27:user\npostgres:x:104:\nuser:x:1000:\n");
  EXPECT_EQ(made.shadow.find("root:*:"), 0u);
}

}  // namespace
}  // namespace cay::launcher
