#include "launcher_command.h"

#include <pwd.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>

#include "data_dir.h"
#include "launcher_process.h"

namespace cay::app {
namespace {

constexpr int kFailure = 125;

// A uid without an account has a group of the same number.
gid_t group_of(uid_t uid) {
  const passwd* entry = ::getpwuid(uid);
  return entry != nullptr ? entry->pw_gid : uid;
}

int say(const Error& error) {
  std::fprintf(stderr, "cay launcher: %s\n", error.message.c_str());
  return kFailure;
}

}  // namespace

int launcher_command(int argc, char** argv) {
  CLI::App app{"The only privileged part of Cay: makes and unmakes sandboxes for one daemon.", "cay launcher"};
  app.footer(
      "`cay serve` started by root starts it itself. For a daemon of your own:\n"
      "  sudo cay launcher --data ~/.local/share/cay --daemon-uid $(id -u) --detach\n"
      "  cay serve\n"
      "Examples:\n"
      "  sudo cay launcher --data DIR --stop      ends it; sandboxes live on");
  std::string dir = default_data_dir();
  std::uint32_t uid = ::getuid();
  std::int64_t gid = -1;
  bool stop = false, detach = false;
  app.add_option("--data", dir, "the daemon's data directory")->capture_default_str();
  app.add_option("--daemon-uid", uid, "the user that the daemon runs as")->capture_default_str();
  app.add_option("--daemon-gid", gid, "its group (default: that user's own)");
  app.add_flag("--stop", stop, "end the running launcher of this data directory");
  app.add_flag("--detach", detach, "return once it serves");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    const int code = app.exit(error);
    return code == 0 ? 0 : 2;
  }
  if (stop) {
    auto stopped = stop_launcher(dir);
    if (!stopped && stopped.error().code != Code::kNotFound) return say(stopped.error());
    return 0;
  }
  if (::geteuid() != 0) {
    return say(Error{Code::kPermissionDenied, "needs_root", "the launcher makes mounts and id maps: start it with sudo", 0});
  }
  const gid_t group = gid < 0 ? group_of(uid) : static_cast<gid_t>(gid);
  auto data = open_data_dir(dir, DaemonUser{uid, group, "uid " + std::to_string(uid)});
  if (!data) return say(data.error());
  const LauncherOptions options{data->path, data->instance, uid, group};
  if (detach) {
    auto started = start_launcher(options);
    return started ? 0 : say(started.error());
  }
  return say(become_launcher(options).error());
}

}  // namespace cay::app
