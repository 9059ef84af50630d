// Host: everything of this machine that the launcher holds open. The guardian opens it once;
// workers inherit it.
#pragma once
#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "launcher/config.h"
#include "launcher/disks.h"
#include "launcher/groups.h"
#include "launcher/host_cpus.h"
#include "launcher/oom_watch.h"
#include "launcher/slots.h"

namespace cay::launcher {

struct Host {
  Config config;
  std::string boot_id;
  std::vector<std::string> covered_proc;  // kernel_view.h
  bool own_clocks = false;                // guest_clocks.h: of every sandbox, or of none
  HostCpus cpus;

  UniqueFd data, run, gate, spool, sandboxes, layers;  // directories of DATA
  UniqueFd empty;          // an empty directory of root's: keepers are chrooted into it
  std::string empty_path;  // the same, by name
  UniqueFd null;           // /dev/null, read-write
  UniqueFd no_network;     // a network namespace with nothing in it, which keepers live in
  UniqueFd lock;           // held while this instance's launcher lives
  Slots slots;
  Groups groups;
  Disks disks;
  OomWatch oom;

  // Opens and makes what is missing, in a mount namespace of our own. Fails kAlreadyExists (reason
  // launcher_runs) while another launcher serves this data directory.
  static Result<Host> open(Config config);

  // Fails with EIO if Config::fail_step is `name`. Kills this process if it is "die at " and
  // `name`.
  Result<void> step(const char* name) const;
};

}  // namespace cay::launcher
