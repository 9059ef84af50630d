// Birth: the making of one live sandbox, from the fork of its keeper to "ready". The launcher's
// half is three short steps between which it serves others; the keeper's half runs in the forked
// child.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/profile.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "launcher/groups.h"
#include "launcher/guest_network.h"
#include "launcher/host.h"
#include "launcher/program_recorder.h"
#include "os/process.h"
#include "wire/messages.h"

namespace cay::launcher {

struct BirthPlan {
  std::string id;
  std::string hostname;
  std::vector<std::string> layers;  // ids, the highest first
  GroupLimits limits;
  std::uint64_t disk_bytes = 0;
  std::uint64_t spool_bytes = 0;
  bool waits_for_use = false;
  bool fresh_disk = false;
  bool forked = false;        // the disk was just copied from another sandbox's
  bool builds_layer = false;  // init_process.h
  std::vector<wire::DiskMountMsg> mounts;
  std::vector<std::string> read_only_paths, hidden_paths;
  std::string policy;
  Profile profile = Profile::kDefault;
  bool nested_networks = false;
  std::vector<wire::TmpfsMount> tmpfs;
  const GuestNetwork* network = nullptr;  // null: no way out
  bool network_required = false;  // without it the birth fails where the host cannot give it
  // Set where programs are recorded. It enters the group of command slots into the record.
  std::function<Result<ProgramTap>(int cmds)> tap;
};

class Birth {
 public:
  // Makes groups, disk limit, spool directory, socket, and forks the keeper. The id alone
  // names what a failure leaves behind: the caller removes it as it removes any sandbox.
  static Result<Birth> begin(Host& host, const BirthPlan& plan, const Slot& slot);

  int fd() const { return control_.get(); }  // readable: call advance()

  enum class State : std::uint8_t { kWaiting, kReady };
  Result<State> advance();
  // Once ready: why the sandbox has no way out. Empty if it has one, or was to have none.
  const std::string& no_network() const { return no_network_; }

  UniqueFd& pidfd() { return pidfd_; }
  pid_t pid() const { return pid_; }

 private:
  Result<void> give_mounts(pid_t init);
  Error failure();

  UniqueFd control_;  // to the keeper
  UniqueFd init_;     // to init
  UniqueFd pidfd_;
  pid_t pid_ = 0;
  uid_t first_uid_ = 0;
  std::string id_;
  std::string no_network_;
  std::uint64_t disk_bytes_ = 0;
  UniqueFd groups_;  // guest_groups.h; none where the v2 tree is mounted for the launcher alone
  std::vector<UniqueFd> mounts_;  // layers, top first; the disk; BirthPlan::mounts. Not yet
                                  // id-mapped
  const Host* host_ = nullptr;
};

}  // namespace cay::launcher
