#include "launcher_command.h"

#include <pwd.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>

#include "command_line.h"
#include "config.h"
#include "data_dir.h"
#include "gate_process.h"
#include "launcher_process.h"

namespace cay::app {
namespace {

// A uid without an account has a group of the same number.
gid_t group_of(uid_t uid) {
  const passwd* entry = ::getpwuid(uid);
  return entry != nullptr ? entry->pw_gid : uid;
}

int say(const Error& error) { return fail("cay launcher", error); }

}  // namespace

int launcher_command(int argc, char** argv) {
  CLI::App app{"The only privileged part of Cay: makes and unmakes sandboxes for one daemon.",
               "cay launcher"};
  app.footer(
      "`cay serve` started by root starts it itself. For a daemon of your own:\n"
      "  sudo cay launcher --data ~/.local/share/cay --daemon-uid $(id -u) --detach\n"
      "  cay serve\n"
      "Examples:\n"
      "  sudo cay launcher --data DIR --stop      ends it; sandboxes live on\n"
      "  cay launcher --config /etc/cay/cay.toml --daemon-user cay --cgroup-parent "
      "/cay.slice/cay-sandboxes.service\n"
      "                                           as the systemd unit does");
  std::string dir, file, user, gate_name, parent;
  std::int64_t uid = -1, gid = -1;
  bool stop = false, detach = false, hold = false;
  app.add_option("--config", file, "the daemon's settings; server.data is read")
      ->check(CLI::ExistingFile);
  app.add_option("--data", dir, "the daemon's data directory (default " + default_data_dir() + ")");
  app.add_option("--daemon-user", user, "the user that the daemon runs as, by name");
  app.add_option("--gate-user", gate_name,
                 "the user that the gate runs as, by name (default: the daemon's, but not root)");
  app.add_option("--cgroup-parent", parent,
                 "cgroup that sandboxes lie below (default: the root of each hierarchy)");
  app.add_option("--daemon-uid", uid,
                 "the user that the daemon runs as (default: whose the data directory is, else who "
                 "starts this)")
      ->check(CLI::Range(std::int64_t{0}, std::int64_t{0xfffffffe}));
  app.add_option("--daemon-gid", gid, "its group (default: that user's own)");
  app.add_flag("--stop", stop, "end the running launcher of this data directory");
  app.add_flag("--hold-cgroup", hold,
               "only keep the cgroup it is started in (the unit cay-sandboxes)");
  app.add_flag("--detach", detach, "return once it serves");
  if (const auto over = parse_words(app, argc, argv, 2)) return *over;
  if (hold) return say(become_holder().error());
  if (!file.empty()) {
    Config config;
    if (auto loaded = load_config(file, config); !loaded) return say(loaded.error());
    if (dir.empty()) dir = config.data;
  }
  if (dir.empty()) dir = default_data_dir();
  if (stop) {
    auto stopped = stop_launcher(dir);
    if (!stopped && stopped.error().code != Code::kNotFound) return say(stopped.error());
    return 0;
  }
  if (::geteuid() != 0) {
    return say(Error{Code::kPermissionDenied, "needs_root",
                     "the launcher makes mounts and id maps: start it with sudo", 0});
  }
  const uid_t wanted = uid < 0 ? ::getuid() : static_cast<uid_t>(uid);
  DaemonUser daemon{wanted, gid < 0 ? group_of(wanted) : static_cast<gid_t>(gid),
                    "uid " + std::to_string(wanted)};
  if (const auto owner = owner_of_data_dir(dir); owner && uid < 0) daemon = *owner;
  if (!user.empty()) {
    auto named = daemon_user(user);
    if (!named) return say(named.error());
    daemon = *named;
  }
  if (auto whole = check_restored(dir); !whole) return say(whole.error());
  auto data = open_data_dir(dir, daemon);
  if (!data) return say(data.error());
  uid_t gate = daemon.uid;                // a daemon of a user's own starts the gate as that user
  if (!gate_name.empty() || gate == 0) {  // but never root: it reads what hostile peers send
    auto named = role_user(kGate, gate_name);
    if (!named) return say(named.error());
    gate = named->uid;
  }
  const LauncherOptions options{data->path, data->instance, daemon.uid, daemon.gid, gate, parent};
  if (detach) {
    auto started = start_launcher(options);
    return started ? 0 : say(started.error());
  }
  return say(become_launcher(options).error());
}

}  // namespace cay::app
