// Config has the settings of one launcher. The launcher reads everything else from the host.
#pragma once
#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

#include "base/result.h"
#include "wire/messages.h"

namespace cay::launcher {

using Progress = std::function<void(const std::string& sentence)>;

// Builds or finds the `default` snapshot under the directory `layers`. Runs in a process of its
// own.
using PrepareDefault = std::function<Result<wire::SnapshotMsg>(
    const std::string& layers, const wire::PrepareDefault& with, const Progress& progress)>;

struct Config {
  std::string data;      // the data directory, absolute
  std::string instance;  // 1-64 of [a-z0-9-]
  std::string build;     // program version, for HELLO
  uid_t daemon_uid = 0;  // the only user served, besides root
  gid_t daemon_gid = 0;  // may read the spools
  uid_t gate_uid = 0;    // whom keepers lend the sandboxes' sockets
  gid_t gate_gid = 0;
  int socket_fd = -1;  // a listening socket; -1: made at DATA/run/launcher.sock
  std::string runtime_dir = "/run/cay";
  std::string cgroup_parent;  // where sandboxes' groups lie in each hierarchy; empty: at the root
  std::uint64_t pool_bytes = 0;  // of a new pool file; 0: min(80 % of the free space, 1 TiB)
  bool plain_disks = false;      // never use a pool
  char* arguments =
      nullptr;  // our argv area: overwritten in keepers and inits, which the guest can see
  std::size_t arguments_size = 0;
  PrepareDefault prepare_default;
  std::function<void()> on_ready;  // called once in the guardian, when the socket listens

  // Namespaces of the next sandbox are made ahead (spare_ground.h).
  bool ground_ahead = true;

  // The interval at which the guardian checks that its worker goes on. One that hangs is replaced
  // (pulse.h). In all this is shorter than a daemon's wait for its launcher (20 s).
  std::chrono::milliseconds beat{3000};

  // The time after which the caller of an end that is not over learns what it waits for. Below the
  // daemon's own limit (60 s).
  std::chrono::milliseconds patience{38'000};

  // Tests: the step of this name fails with EIO, or after "die at " kills its process. Empty in the
  // program.
  std::string fail_step;
};

}  // namespace cay::launcher
