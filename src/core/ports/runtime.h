// The core makes, finds and removes isolated computers through the port Runtime. runtime/native and
// a fake in core/testing implement it. It has no HTTP, no tenants and no names.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "async/task.h"
#include "core/ports/capabilities.h"
#include "core/ports/layers.h"
#include "core/ports/live_sandbox.h"
#include "model/event.h"
#include "model/network.h"
#include "model/program.h"
#include "model/sandbox.h"
#include "model/snapshot.h"

namespace cay::core {

// A directory of the store that a sandbox sees at a path of its own.
struct DiskMount {
  std::string path;   // inside, absolute; made if it is missing
  VolumeId volume{};  // this, or
  LayerId layer{};    // a layer alone, as it lies on the disk, always read-only
  bool read_only = false;
  bool operator==(const DiskMount&) const = default;
};

struct BootSpec {
  SandboxId id;
  std::string hostname;  // from the sandbox's name
  LayerId layer;  // the top one of those that it stands on; empty: none, for the lowest layer
  Limits limits;  // no zeros
  RunConfig run;  // image < snapshot < sandbox, layered; for every command
  bool record_programs = false;         // kUnsupported (programs_unsupported) where the host cannot
  Profile profile = Profile::kDefault;  // kUnsupported (profile_unsupported) where it cannot be
                                        // had: never a weaker one
  TmpfsMounts tmpfs{};  // kUnsupported (tmpfs_unsupported), kInvalidArgument (invalid_tmpfs)
  // kUnsupported (paths_unsupported), kInvalidArgument (invalid_paths, path_missing). Not with
  // Profile::kNested.
  PathList read_only_paths{}, hidden_paths{};
  std::string policy{};  // off: no way out
  std::string rules{};   // of the policy "rules"
  // kUnsupported (network_unsupported) where the host cannot give what `policy` asks for; false: it
  // comes up without, and LiveSandbox::network() says so.
  bool network_required = false;
  // The first boot takes a copy of this one's disk, which shares all unchanged data with it.
  std::optional<SandboxId> disk_of{};
  bool fresh_disk = false;          // what an earlier boot left on its disk is removed first
  bool builds_layer = false;        // its root is written by write_layer() alone: nothing of Cay's
                                    // is put there, and it has no way out
  std::vector<DiskMount> mounts{};  // kUnsupported (no_layers) where disks cannot be mounted
  bool waits_for_use = false;       // booted ahead: it stays ready for its first command
  bool operator==(const BootSpec&) const = default;
};

// How a live sandbox ended without being asked to.
struct SandboxDeath {
  SandboxId id;
  std::string reason;  // "keeper lost", "init killed", ...
};

struct Feature {
  std::string name;  // "cgroup", "idmapped mounts", "disk quota", ...
  bool ok = false;
  std::string found;     // what the host has
  std::string fallback;  // what is used instead, or what is lost
  std::string remedy;    // the command that mends it; empty if none
};

// How the runtime itself is, without asking anybody.
struct RuntimeHealth {
  bool reachable = true;         // what makes and ends sandboxes answers
  std::uint64_t reconnects = 0;  // to it, since this daemon started: it was restarted so often
  bool gate_serves = true;       // sandboxes' way out
  bool broker_serves = true;     // who keeps secrets
};

class VolumeDisks {
 public:
  virtual ~VolumeDisks() = default;
  // Makes it, or changes its limit. `bytes` is its limit.
  virtual Task<void> make(VolumeId id, std::uint64_t bytes) = 0;
  virtual Task<void> remove(VolumeId id) = 0;  // idempotent; kConflict (volume_in_use)
  virtual Task<std::vector<std::pair<VolumeId, std::uint64_t>>> list() = 0;  // with their use
};

// DestinationQuestions: destinations that no rule of a sandbox's policy decides (decision 0064). A
// runtime that has none keeps these defaults.
class DestinationQuestions {
 public:
  virtual ~DestinationQuestions() = default;
  // Those of a sandbox that lives, the oldest first.
  virtual Task<std::vector<NetworkQuestion>> questions(SandboxId) {
    co_return std::vector<NetworkQuestion>();
  }
  // Answers one. kNotFound (question_not_found): it is not open. kUnavailable
  // (policy_not_in_force): it is not certain that the gate goes by it.
  virtual Task<void> answer_question(SandboxId, std::string, bool) {
    co_return Error{Code::kNotFound, "question_not_found", "this runtime has no questions", 0};
  }
};

class Runtime : public virtual DestinationQuestions {
 public:
  ~Runtime() override = default;

  // Makes the disk if there is none, and boots. A failure leaves no process, mount or cgroup
  // (and no disk, if it made it).
  virtual Task<std::shared_ptr<LiveSandbox>> boot(BootSpec spec) = 0;
  // Ends everything in it; keeps the disk and the spools. Idempotent.
  virtual Task<void> stop(SandboxId id) = 0;
  // Stops, and removes the disk, the spools and every other trace. Idempotent.
  virtual Task<void> destroy(SandboxId id) = 0;

  // Sandboxes of this instance that have a disk, whoever made them.
  virtual Task<std::vector<SandboxId>> with_disk() = 0;

  // At start: every sandbox of this instance that still lives, connected. Then removes what is
  // neither alive nor in `known` (ids with a row in the store).
  virtual Task<std::vector<std::pair<SandboxId, std::shared_ptr<LiveSandbox>>>> adopt(
      std::vector<SandboxId> known) = 0;

  // Finished commands of a sandbox that is stopped, from its spools.
  virtual Task<std::vector<Command>> stopped_commands(SandboxId id) = 0;
  virtual Task<std::unique_ptr<CommandReader>> stopped_reader(SandboxId id, CommandId command,
                                                              OutputOffsets from) = 0;

  // The program record, from `offset` of an earlier page on (0: from its beginning); of one that
  // runs and of one that is stopped. kInvalidArgument (bad_offset): no record begins there.
  virtual Task<ProgramPage> programs(SandboxId id, std::uint64_t offset, std::uint32_t limit) = 0;

  // What a sandbox that lives, or is being booted, may reach from now on: new connections and names
  // at once, and what is open and would not be let through any more is reset before this returns.
  // Outlives whoever decides. One that was booted without a way out gets none by it. kUnavailable
  // (policy_not_in_force): it is kept, and it is not certain that it is gone by yet.
  virtual Task<void> set_policy(SandboxId id, std::string policy, std::string rules) = 0;

  // What it tried to reach, of any state; nothing yet: no lines.
  virtual Task<NetworkReport> network(SandboxId id) = 0;
  // The log of it, of any state. kOutOfRange (decision_ahead): `after` is a number that was not
  // given yet.
  virtual Task<DecidedPage> decisions(SandboxId id, DecidedQuery query) = 0;

  // Makes or finds the `default` snapshot of this host. `progress` gets sentences.
  virtual Task<SnapshotInfo> prepare_default_snapshot(
      std::function<void(std::string)> progress) = 0;

  // Layers that can be made, beside the one of the default snapshot. Null: none can.
  virtual Layers* layers() { return nullptr; }
  // Directories that sandboxes mount (BootSpec::mounts). Null: there are none.
  virtual VolumeDisks* volumes() { return nullptr; }

  // Another one than before means that the host was restarted: what ran then ended with it.
  virtual std::string host_boot_id() const = 0;

  // Calls `on_death` (on the daemon's loop) for every sandbox that ends unasked; at once for those
  // that did since adopt().
  virtual void watch(std::function<void(SandboxDeath)> on_death) = 0;

  virtual Task<std::vector<Feature>> features() = 0;  // for doctor
  virtual RuntimeHealth health() const { return {}; }

  // Returns what it can do, as far as it knows. Does not wait for anybody.
  virtual Capabilities capabilities() const { return {}; }

  // The daemon is about to end. Readers that go from now on go with it and not by their clients'
  // wish: keepers are not told that they went, and give them the time to come back that they give
  // readers of a daemon that was killed.
  virtual void part() {}
};

}  // namespace cay::core
