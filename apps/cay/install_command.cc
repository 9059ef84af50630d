#include "install_command.h"

#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "command_line.h"
#include "config.h"
#include "data_dir.h"
#include "os/file.h"
#include "packaged_files.h"
#include "purge.h"

namespace cay::app {
namespace {

namespace fs = std::filesystem;
constexpr const char* kPackagedProgram = "/usr/bin/cay";
constexpr const char* kDefaultData = "/var/lib/cay";

// Runs a program of the host's to its end; its exit code, 127 if there is none.
int run(std::vector<std::string> words, const std::string& output = {}) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  if (!output.empty())
    posix_spawn_file_actions_addopen(&actions, 1, output.c_str(), O_WRONLY | O_CREAT | O_TRUNC,
                                     0644);
  std::vector<char*> argv;
  for (auto& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  pid_t pid = 0;
  const int failed = ::posix_spawnp(&pid, argv[0], &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  int status = 0;
  if (failed != 0 || ::waitpid(pid, &status, 0) != pid) return 127;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

bool has_systemd() { return ::access("/run/systemd/system", F_OK) == 0; }
bool from_package() { return ::access("/var/lib/dpkg/info/cay.list", F_OK) == 0; }

struct Where {
  std::string root;                   // "" or a tree to install into
  std::string prefix = "/usr/local";  // of the program
  std::string program() const { return prefix + "/bin/cay"; }
  std::string completion() const { return prefix + "/share/bash-completion/completions/cay"; }
  // The directories that `cay install` made, one a line, without the root: uninstall takes away
  // these, and none that was there before.
  std::string made() const { return root + "/etc/cay/made-directories"; }
};

constexpr std::size_t kMostMade = 64 * 1024;

std::vector<std::string> read_made(const Where& where) {
  std::vector<std::string> out;
  std::istringstream lines(os::read_file(AT_FDCWD, where.made(), kMostMade).value_or(""));
  for (std::string line; std::getline(lines, line);) out.push_back(line);
  return out;
}

Result<void> put(const std::string& path, const std::string& content, mode_t mode) {
  CAY_TRY(const UniqueFd dir, os::open_dir(AT_FDCWD, fs::path(path).parent_path()));
  return os::replace_file(dir.get(), fs::path(path).filename(), content, mode);
}

std::string with_program(std::string text, const std::string& program) {
  const std::string from = kPackagedProgram;
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += program.size())
    text.replace(at, from.size(), program);
  return text;
}

Result<void> write_made(const Where& where, const std::vector<std::string>& made) {
  std::string text;
  for (const std::string& path : made) text += path + "\n";
  return put(where.made(), text, 0644);
}

// The directory of `path`, and on the way what is missing above it.
Result<void> make_parent(const Where& to, const std::string& path, std::vector<std::string>& made) {
  for (std::size_t at = path.find('/', 1); at != std::string::npos; at = path.find('/', at + 1)) {
    const std::string directory = path.substr(0, at);
    if (::mkdir((to.root + directory).c_str(), 0755) == 0) {
      made.push_back(directory);
    } else if (errno != EEXIST) {
      return Error::from_errno(errno, "make the directory of " + path);
    }
  }
  return {};
}

// All of them, before there is anything in them: what was made is on record also when the rest
// fails.
Result<void> make_directories(const Where& to) {
  std::error_code failed;
  if (!to.root.empty()) fs::create_directories(to.root, failed);
  std::vector<std::string> made = read_made(to);
  CAY_CHECK(make_parent(to, to.program(), made));
  CAY_CHECK(make_parent(to, to.completion(), made));
  for (const PackagedFile& file : packaged_files()) {
    CAY_CHECK(make_parent(to, file.path, made));
  }
  return write_made(to, made);
}

Result<void> put_program(const std::string& path) {
  std::error_code failed;
  const fs::path self = fs::read_symlink("/proc/self/exe", failed);
  if (!failed && fs::equivalent(self, path, failed)) return {};
  // Beside it and renamed: the old one may be running.
  fs::copy_file(self, path + ".new", fs::copy_options::overwrite_existing, failed);
  if (failed) return Error::from_errno(failed.value(), "copy the program to " + path);
  fs::permissions(path + ".new", fs::perms(0755), failed);
  fs::rename(path + ".new", path, failed);
  if (failed) return Error::from_errno(failed.value(), "put the program at " + path);
  return {};
}

Result<void> put_files(const Where& to) {
  CAY_CHECK(make_directories(to));
  CAY_CHECK(put_program(to.root + to.program()));
  for (const PackagedFile& file : packaged_files()) {
    const std::string path = to.root + file.path;
    if (file.settings && ::access(path.c_str(), F_OK) == 0) continue;
    CAY_CHECK(put(path, with_program(file.content, to.program()), file.mode));
  }
  (void)run({to.root + to.program(), "completion", "bash"}, to.root + to.completion());
  return {};
}

Result<void> make_user() {
  if (::getpwnam("cay") != nullptr && ::getpwnam("cay-gate") != nullptr &&
      ::getpwnam("cay-broker") != nullptr)
    return {};
  if (run({"systemd-sysusers", "cay.conf"}) == 0) return {};
  for (const char* user : {"cay-gate", "cay-broker"}) {
    (void)run({"useradd", "--system", "--user-group", "--home-dir", "/nonexistent",
               "--no-create-home", "--shell", "/usr/sbin/nologin", user});
  }
  if (::getpwnam("cay") != nullptr) return {};
  if (run({"useradd", "--system", "--user-group", "--home-dir", kDefaultData, "--no-create-home",
           "--shell", "/usr/sbin/nologin", "cay"}) == 0)
    return {};
  return Error{Code::kInternal, "no_user",
               "the user 'cay' could not be made: make it (useradd --system cay), then try again",
               0};
}

Result<void> start_units() {
  CAY_CHECK(make_user());
  if (const group* cay = ::getgrnam("cay"); cay != nullptr)
    (void)!::chown("/etc/cay/cay.toml", 0, cay->gr_gid);
  (void)run({"modprobe", "-qa", "overlay", "btrfs", "loop", "nf_tables", "nft_chain_nat", "nft_nat",
             "nft_reject_inet", "nf_conntrack"});
  (void)run({"systemd-tmpfiles", "--create", "cay.conf"});
  if (run({"systemctl", "daemon-reload"}) != 0 ||
      run({"systemctl", "enable", "--quiet", "cay-launcher.service", "cay-broker.service",
           "cay-gate.service", "cay.service"}) != 0 ||
      run({"systemctl", "restart", "cay-launcher.service", "cay-broker.service", "cay-gate.service",
           "cay.service"}) != 0) {
    return Error{Code::kInternal, "units_failed",
                 "the units did not start: see `systemctl status cay cay-launcher` and `journalctl "
                 "-u cay -u cay-launcher`",
                 0};
  }
  return {};
}

void remove_files(const Where& from, bool settings) {
  std::vector<std::string> made = read_made(from);
  for (const PackagedFile& file : packaged_files()) {
    if (!file.settings || settings) ::unlink((from.root + file.path).c_str());
  }
  ::unlink((from.root + from.completion()).c_str());
  ::unlink((from.root + from.program()).c_str());
  ::unlink(from.made().c_str());
  std::ranges::sort(made, std::greater());  // what is below comes first
  std::erase_if(made, [&](const std::string& path) {
    return ::rmdir((from.root + path).c_str()) == 0 || errno == ENOENT;
  });
  if (settings)
    ::rmdir(fs::path(from.made()).parent_path().c_str());  // Cay's by its name, whoever made it
  else if (!made.empty())
    (void)write_made(from, made);  // for the purge to come
}

// Ends and removes what is in the data directory. `stays`: it is none of Cay's, which no later try
// changes; why.
Result<void> purge_state(const std::string& data, std::optional<Error>& stays) {
  auto done = purge(data);
  if (done || done.error().reason != "bad_data_dir") return done;
  stays = std::move(done).error();
  stays->message += ". It stays; all the rest is removed";
  return {};
}

Result<void> uninstall(const Where& from, bool purged, std::string data) {
  const bool live = from.root.empty() && has_systemd();
  if (purged && data.empty() && from.root.empty()) {
    Config settings;
    if (::access("/etc/cay/cay.toml", R_OK) == 0) {
      CAY_CHECK(load_config("/etc/cay/cay.toml", settings));
    }
    data = settings.data.empty() ? kDefaultData : settings.data;
  }
  if (live) {
    if (run({"systemctl", "is-active", "--quiet", "cay.service"}) == 0)
      (void)run({from.program(), "drain", "--timeout", "0", "--stop"});
    (void)run({"systemctl", "disable", "--quiet", "cay.service", "cay-gate.service",
               "cay-broker.service", "cay-launcher.service"});
    (void)run({"systemctl", "stop", "cay.service", "cay-gate.service", "cay-broker.service",
               "cay-launcher.service", "cay-sandboxes.service", "cay.slice"});
  }
  std::optional<Error> stays;
  if (!data.empty()) {
    CAY_CHECK(purge_state(data, stays));
  }
  remove_files(from, purged);
  if (live) (void)run({"systemctl", "daemon-reload"});
  for (const char* user : {"cay", "cay-gate", "cay-broker"}) {
    if (purged && from.root.empty() && ::getpwnam(user) != nullptr) (void)run({"userdel", user});
  }
  if (stays) return *std::move(stays);
  return {};
}

}  // namespace

int install_command(int argc, char** argv) {
  CLI::App app{"This program as a service of the machine: user, units, settings, completion.",
               "cay install"};
  app.footer(
      "For machines with systemd and without the Debian package. Settings that are there already "
      "are kept.\n"
      "Examples:\n"
      "  sudo cay install\n"
      "  cay install --root /srv/image        into a tree; nothing is started");
  Where to;
  app.add_option("--prefix", to.prefix, "where the program goes (PREFIX/bin/cay)")
      ->capture_default_str();
  app.add_option("--root", to.root, "a tree to install into");
  if (const auto over = parse_words(app, argc, argv)) return *over;
  const bool machine = to.root.empty();
  if (machine && ::geteuid() != 0)
    return fail("cay install",
                {Code::kPermissionDenied, "needs_root", "it writes to /etc: run it with sudo", 0});
  if (machine && from_package())
    return fail("cay install", {Code::kConflict, "from_package",
                                "the Debian package is installed: upgrade that", 0});
  if (machine && !has_systemd()) {
    return fail(
        "cay install",
        {Code::kUnsupported, "no_systemd",
         "systemd does not run here: start it by hand, with `sudo cay serve` (docs/operator.md)",
         0});
  }
  auto done = put_files(to);
  if (done && machine) done = start_units();
  if (!done) return fail("cay install", done.error());
  std::printf("%s\n",
              machine
                  ? "Cay serves. Settings: /etc/cay/cay.toml. Try: sudo cay run --rm -- uname -a"
                  : "Installed; nothing was started.");
  return 0;
}

int uninstall_command(int argc, char** argv) {
  CLI::App app{
      "Takes away what `cay install` put there. Sandboxes are stopped; their state stays, unless "
      "--purge.",
      "cay uninstall"};
  app.footer(
      "Examples:\n"
      "  sudo cay uninstall                       state and settings stay\n"
      "  sudo cay uninstall --purge               and they go, too: disks, keys, everything\n"
      "  sudo cay uninstall --purge --data DIR    of a daemon that was run by hand");
  Where from;
  std::string data;
  bool purged = false;
  app.add_option("--prefix", from.prefix, "where the program is (PREFIX/bin/cay)")
      ->capture_default_str();
  app.add_option("--root", from.root, "a tree that was installed into");
  auto* purge_too =
      app.add_flag("--purge", purged, "remove the data directory, the settings and the user, too");
  // Alone it would take the installed daemon away, which is another one's.
  app.add_option("--data", data,
                 "the data directory, and nothing but that (default: that of the settings)")
      ->needs(purge_too);
  if (const auto over = parse_words(app, argc, argv)) return *over;
  if (::geteuid() != 0)
    return fail("cay uninstall", {Code::kPermissionDenied, "needs_root", "run it with sudo", 0});
  // A --data directory of the caller's own has nothing to do with the package's files.
  if (purged && !data.empty() && from.root.empty()) {
    auto done = purge(data);
    return done ? 0 : fail("cay uninstall", done.error());
  }
  if (from.root.empty() && from_package()) {
    return fail("cay uninstall", {Code::kConflict, "from_package",
                                  std::string("the Debian package is installed: apt-get ") +
                                      (purged ? "purge" : "remove") + " cay",
                                  0});
  }
  auto done = uninstall(from, purged, data);
  return done ? 0 : fail("cay uninstall", done.error());
}

}  // namespace cay::app
