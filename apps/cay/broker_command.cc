#include "broker_command.h"

#include <fcntl.h>

#include <CLI/CLI.hpp>
#include <functional>

#include "broker_process.h"
#include "command_line.h"
#include "config.h"
#include "data_dir.h"
#include "gate/outward_probe.h"
#include "gate_process.h"
#include "network_config.h"
#include "os/file.h"
#include "vault/confinement.h"
#include "vault_config.h"

namespace cay::app {
namespace {

int say(const Error& error) { return fail("cay broker", error); }

Result<void> probe(const std::string& data, pid_t process, bool confined) {
  CAY_TRY(const UniqueFd directory, os::open_dir(AT_FDCWD, data + "/" + kBroker.directory));
  std::function<Result<int>()> confine;
  if (confined) confine = [&] { return vault::confine(directory.get()); };
  return gate::probe_outward(data, process, directory.get(), -1, confine);
}

}  // namespace

int broker_command(int argc, char** argv) {
  CLI::App app{"Keeps the key to secrets, and uses them for sandboxes. Needs no privilege.",
               "cay broker"};
  app.footer(
      "`cay serve` starts it itself, unless a unit does. Started by root it becomes the user "
      "`cay-broker`, or one that owns nothing.\n"
      "Examples:\n"
      "  cay broker --config /etc/cay/cay.toml --broker-user cay-broker --gate-user cay-gate "
      "--daemon-user cay     as the systemd unit does\n"
      "  cay broker --data DIR --stop                      what is open through it is reset");
  std::string dir, file, user, gate, daemon, serve;
  bool stop = false;
  app.add_option("--config", file, "the daemon's settings")->check(CLI::ExistingFile);
  app.add_option("--data", dir, "the daemon's data directory (default " + default_data_dir() + ")");
  app.add_option("--broker-user", user, "the user that the broker becomes when root starts it");
  app.add_option("--gate-user", gate, "the user that the gate runs as");
  app.add_option("--daemon-user", daemon, "the user that the daemon runs as");
  app.add_flag("--stop", stop, "end the broker of this data directory");
  pid_t probed = 0;
  bool unconfined = false;
  app.add_option("--probe", probed)
      ->group("");  // what is still possible from within its confinement: of this process, and of
                    // the data directory
  app.add_flag("--unconfined", unconfined)->group("");  // ... and the control
  app.add_option("--serve", serve)
      ->group("");  // what it becomes itself: settings and directory are open already
  if (const auto over = parse_words(app, argc, argv)) return *over;
  if (!serve.empty())
    return run_broker_guardian(serve == "always" ? vault::Life::kAlways
                                                 : vault::Life::kWhileNeeded);
  Config config;
  if (!file.empty()) {
    if (auto loaded = load_config(file, config); !loaded) return say(loaded.error());
  }
  if (dir.empty()) dir = config.data.empty() ? default_data_dir() : config.data;
  if (probed > 0) {
    auto tried = probe(dir, probed, !unconfined);
    return tried ? 0 : say(tried.error());
  }
  if (stop) {
    auto stopped = stop_role(kBroker, dir);
    return stopped ? 0 : say(stopped.error());
  }
  auto becoming = role_user(kBroker, user);
  if (!becoming) return say(becoming.error());
  auto of_gate = role_user(kGate, gate);
  if (!of_gate) return say(of_gate.error());
  auto of_daemon = daemon_user(daemon);
  if (!of_daemon) return say(of_daemon.error());
  auto data = open_data_dir(dir, *of_daemon);
  if (!data) return say(data.error());
  auto network = settle_network(config.network);
  if (!network) return say(network.error());
  auto settings = broker_settings(config.vault, *network, data->path, of_daemon->uid, of_gate->uid);
  if (!settings) return say(settings.error());
  return say(become_broker({*std::move(settings), *becoming}, vault::Life::kAlways));
}

}  // namespace cay::app
