// RealLauncher: the cay-launcher program on a temporary data directory, as root. Ending it leaves
// nothing.
#pragma once
#include <poll.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "base/testing/temp_dir.h"

namespace cay::runtime::testing {

class RealLauncher {
 public:
  static constexpr const char* kSnapshot = "00000000-0000-4000-8000-00000000c0de";

  RealLauncher() {
    std::filesystem::create_directories(data + "/run");
    ::chmod((data + "/run").c_str(), 0700);
    make_snapshot();
    start();
  }
  RealLauncher(const RealLauncher&) = delete;
  RealLauncher& operator=(const RealLauncher&) = delete;
  ~RealLauncher() {
    end();
    remove_cgroups();
  }

  void start() {
    guardian = ::fork();
    if (guardian != 0) return;
    const int log =
        ::open((data + "/launcher.log").c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    ::dup2(log, 2);
    ::execl(CAY_LAUNCHER_PROGRAM, "cay-launcher", "--data", data.c_str(), "--daemon-uid", "0",
            "--daemon-gid", "0", "--instance", instance.c_str(), "--pool-size", "1073741824",
            nullptr);
    ::_exit(127);
  }
  // As an operator ends it: sandboxes live on.
  void end() {
    if (guardian <= 0) return;
    ::kill(guardian, SIGTERM);
    ::waitpid(guardian, nullptr, 0);
    guardian = 0;
  }
  // The process that does the work; its guardian makes another when it dies.
  pid_t worker() const {
    // It names itself a moment after it was forked.
    for (int tries = 0; tries < 1000; ++tries) {
      if (const pid_t pid = named_worker(); pid > 0) return pid;
      ::poll(nullptr, 0, 5);
    }
    return 0;
  }
  pid_t named_worker() const {
    std::ifstream in("/proc/" + std::to_string(guardian) + "/task/" + std::to_string(guardian) +
                     "/children");
    for (pid_t pid = 0; in >> pid;) {
      std::ifstream comm("/proc/" + std::to_string(pid) + "/comm");
      std::string name;
      if (std::getline(comm, name) && name == "cay-launcher-w") return pid;
    }
    return 0;
  }
  // Returns the keeper of the sandbox whose record the launcher keeps, or 0 if none is seen.
  pid_t keeper_of(const std::string& id) const {
    for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
      const std::string name = entry.path().filename();
      if (name.find_first_not_of("0123456789") != std::string::npos) continue;
      std::ifstream groups(entry.path() / "cgroup");
      std::string all;
      std::getline(groups, all,
                   '\0');  // a buffer's iterator throws when the process is gone by now
      if (all.find("/" + id + "/keeper") != std::string::npos)
        return static_cast<pid_t>(std::stol(name));
    }
    return 0;
  }

  const cay::testing::TempDir home{0711};
  const std::string& data = home.path();
  const std::string instance = "native-" + std::to_string(::getpid());
  pid_t guardian = 0;

 private:
  // A shell and a few programs of this host: the default snapshot takes many seconds to make and
  // remove.
  void make_snapshot() const {
    const std::string script = R"(set -e; umask 022; r=$1/layers/$2/root
      mkdir -p $r/usr/bin $r/usr/lib $r/usr/lib64 $r/etc $r/proc $r/sys $r/dev $r/tmp $r/run $r/root
      for d in bin lib lib64; do ln -s usr/$d $r/$d; done; chmod 700 $1/layers
      echo 'root:x:0:0:root:/root:/bin/sh' > $r/etc/passwd; echo 'root:x:0:' > $r/etc/group
      for p in sh cat sleep hostname; do
        f=$(readlink -f $(command -v $p)); cp $f $r/usr/bin/$p
        ldd $f | grep -o '/[^ ]*' | while read l; do mkdir -p $r/$(dirname $l); cp -L $l $r/$l; done
      done)";
    const std::string command =
        "sh -c '" + quoted(script) + "' make-snapshot '" + data + "' " + kSnapshot;
    if (std::system(command.c_str()) != 0) std::abort();
  }
  // For within single quotes of the shell.
  static std::string quoted(const std::string& text) {
    std::string out;
    for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return out;
  }
  void remove_cgroups() const {
    std::error_code ignored;
    for (const auto& root : std::filesystem::directory_iterator("/sys/fs/cgroup", ignored)) {
      ::rmdir((root.path() / ("cay-" + instance)).c_str());
    }
    ::rmdir(("/sys/fs/cgroup/cay-" + instance).c_str());
  }
};

}  // namespace cay::runtime::testing
