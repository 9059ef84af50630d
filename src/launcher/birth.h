// Birth: the making of one live sandbox, from the fork of its keeper to "ready". The launcher's
// half is a few short steps between which it serves others; the keeper's half runs in the forked
// child. The launcher makes disk, spool and sockets beside the keeper's first steps.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/profile.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "launcher/groundwork.h"
#include "launcher/groups.h"
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
  // Made ahead, of this plan's kind, with the slot of the sandbox. None: keeper and init make all.
  std::optional<Groundwork> ground;
  // Set where programs are recorded. It enters the group of command slots into the record.
  std::function<Result<ProgramTap>(int cmds)> tap;
};

class Birth {
 public:
  // Forks the keeper into its group. The id alone names what a failure leaves behind: the caller
  // removes it as it removes any sandbox. Then supply() is called, with the same plan and slot.
  static Result<Birth> begin(Host& host, BirthPlan& plan, const Slot& slot);
  // Makes the commands' groups, disk limit, spool directory and sockets, and gives them away.
  Result<void> supply(Host& host, const BirthPlan& plan, const Slot& slot);

  int fd() const { return control_.get(); }  // readable: call advance()

  enum class State : std::uint8_t { kWaiting, kReady };
  Result<State> advance();
  // Once ready: why the sandbox has no way out. Empty if it has one, or was to have none.
  const std::string& no_network() const { return no_network_; }

  UniqueFd& pidfd() { return pidfd_; }
  pid_t pid() const { return pid_; }

 private:
  Result<void> gather_mounts(Host& host, const BirthPlan& plan);
  Result<void> supply_keeper(Host& host, const BirthPlan& plan, const Slot& slot);
  Result<void> map_init(pid_t init);
  Result<void> give_mounts(int userns, int devices);
  Error failure();

  UniqueFd control_;  // to the keeper
  UniqueFd init_;     // to init
  UniqueFd pidfd_;
  pid_t pid_ = 0;
  uid_t first_uid_ = 0;
  std::string id_;
  std::string no_network_;
  std::uint64_t disk_bytes_ = 0;
  SandboxGroups groups_;
  UniqueFd shown_groups_;  // guest_groups.h; none where the v2 tree is mounted for the launcher
                           // alone
  std::optional<Groundwork> ground_;
  std::vector<UniqueFd> mounts_;  // layers, top first; the disk; BirthPlan::mounts. Not yet
                                  // id-mapped
  const Host* host_ = nullptr;
};

}  // namespace cay::launcher
