// Sandbox: an isolated computer as its owner sees it. Spec = requested, Sandbox = observed.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/profile.h"
#include "model/ids.h"
#include "model/limits.h"
#include "model/proxy.h"
#include "model/run_config.h"
#include "model/volume.h"

namespace cay {

enum class SandboxState : std::uint8_t {
  kProvisioning = 1,  // being made
  kReady = 2,         // runs; accepts commands
  kStopped = 3,       // disk kept, nothing runs; a data-plane request wakes it
  kFailed = 4,        // see reason; start() may revive it
  kDeleting = 5,      // going; will be gone
  kPaused = 6,        // held still with its memory, until resumed
};
std::string_view to_string(SandboxState state);
std::optional<SandboxState> sandbox_state_from(std::string_view text);

// The way out of a sandbox as it was made at its last start; its policy may have been changed
// since.
enum class NetworkState : std::uint8_t {
  kOff = 1,          // by its policy, or it never started
  kOn = 2,           // what it sends goes to the gate
  kUnavailable = 3,  // its policy requires one, and the host could not give it: see reason
};
std::string_view to_string(NetworkState state);
std::optional<NetworkState> network_state_from(std::string_view text);
struct SandboxNetwork {
  NetworkState state = NetworkState::kOff;
  std::string reason{};
  bool operator==(const SandboxNetwork&) const = default;
};

// File systems in memory: mount points, and sizes in bytes. 0 is half of the sandbox's memory.
using TmpfsMounts = std::map<std::string, std::uint64_t>;

// Absolute paths inside.
using PathList = std::vector<std::string>;

// The notes of a facade about a sandbox. A key begins with the name of its facade. No client sees
// them or sets them.
using SandboxNotes = std::map<std::string, std::string>;

struct SandboxSpec {
  std::string name;      // empty: generated
  std::string snapshot;  // id, name or name:tag; empty: "default"
  std::string image{};   // instead: an image's reference, which is pulled if no snapshot has it
  std::map<std::string, std::string> labels;
  Limits limits;  // zeros: defaults
  RunConfig run;
  std::string
      policy;  // a name or rules (policy/rule_set.h), as requested; empty: the daemon's default
  std::string rules{};                     // once it is checked: those of the policy "rules"
  std::optional<std::int64_t> idle_ttl_s;  // 0: never; absent: default
  std::optional<std::int64_t> delete_after_stop_s;  // 0: never; absent: default
  std::int64_t lifetime_s = 0;                      // deleted so long after its creation; 0: never
  bool commands_keep_awake = false;  // a running command is use, though nobody reads it
  bool record_programs = false;      // keep a program record (model/program.h)
  std::string
      profile{};  // how commands are held, by name (base/profile.h); empty: the daemon's default
  std::vector<ProxyRule> proxy;  // secrets that it may use
  TmpfsMounts tmpfs{};
  VolumeMounts volumes{};
  PathList read_only_paths{}, hidden_paths{};  // nothing inside may change, or see, what is there
  std::string claim{};                         // Sandbox::claim of one that core::Claims makes
  SandboxNotes notes{};
  SandboxId id{};  // that a facade gave out already; empty: a new one
};

// A moment on the time of timers (core/timeline.h), which no setting of the wall clock moves.
// People see wall-clock time, which is kept beside it.
using LifeMillis = std::int64_t;
struct LifeMarks {
  LifeMillis created = 0;
  LifeMillis active = 0;
  std::optional<LifeMillis> stopped;
  bool operator==(const LifeMarks&) const = default;
};

// Sandbox::reason of one that was stopped by nobody's request for it. InFlight keeps the first two:
// one word each.
inline constexpr std::string_view kStoppedIdle = "idle";        // idle_ttl_s was over
inline constexpr std::string_view kStoppedByDrain = "drained";  // with all others, by the operator
inline constexpr std::string_view kStoppedByHost = "host restarted";

// The name of the runtime that every daemon has.
inline constexpr std::string_view kNativeRuntime = "native";

struct Sandbox {
  SandboxId id;
  TenantId tenant;
  std::string name;
  SandboxState state = SandboxState::kProvisioning;
  std::string reason;  // why it failed, was stopped unasked (kStoppedIdle...) or is deleted and
                       // still there; else empty
  std::string snapshot_name;
  SnapshotId snapshot_id;
  LayerId layer{};  // the top layer that it stands on; empty: the layer of its snapshot's id
  std::string runtime{kNativeRuntime};  // that of its snapshot
  std::map<std::string, std::string> labels;
  Limits limits;
  RunConfig run;
  std::string policy;      // its name; "rules": rules of its own
  std::string rules{};     // then
  SandboxNetwork network;  // as of the last one
  std::int64_t idle_ttl_s = 0;
  std::int64_t delete_after_stop_s = 0;
  std::int64_t lifetime_s = 0;
  bool commands_keep_awake = false;
  bool record_programs = false;
  Profile profile = Profile::kDefault;
  std::vector<ProxyRule> proxy;
  TmpfsMounts tmpfs{};
  VolumeMounts volumes{};
  PathList read_only_paths{}, hidden_paths{};  // nothing inside may change, or see, what is there
  LifeMarks marks;
  UnixMillis created_at = 0;
  UnixMillis updated_at = 0;
  UnixMillis last_active_at = 0;
  std::optional<UnixMillis> stopped_at;
  std::string created_by;  // name of the key
  std::string claim{};     // unique in the tenant; empty: none. A failed one and one that is being
                           // deleted have none (core/registry.h).
  SandboxNotes notes{};
};

// The layer that a sandbox stands on.
inline LayerId layer_of(const Sandbox& row) {
  return row.layer.get().empty() ? LayerId(row.snapshot_id.get()) : row.layer;
}

// The changes of a PATCH. Absent: no change.
struct SandboxPatch {
  std::optional<std::string> name;
  std::optional<std::map<std::string, std::string>> labels;  // replaces all
  std::optional<std::int64_t> idle_ttl_s;
  std::optional<std::int64_t> delete_after_stop_s;
  std::optional<std::int64_t> lifetime_s;  // still from the creation
  std::optional<bool> commands_keep_awake;
  std::optional<PathList> read_only_paths, hidden_paths;  // each replaces all; of one that is
                                                          // stopped
  std::optional<RunConfig> run;                           // merged: see layered()
  std::optional<std::string> policy;  // as SandboxSpec has it; takes effect at once, unless the
                                      // sandbox was started without a way out
  std::optional<std::vector<ProxyRule>> proxy;  // replaces all; at once
  std::optional<std::uint32_t> cpu_millicores;  // limits take effect at the next start
  std::optional<std::uint64_t> memory_bytes;
  std::optional<std::uint64_t> disk_bytes;
  std::optional<std::string> claim{};                         // empty: it gives its claim up
  std::map<std::string, std::optional<std::string>> notes{};  // those that change; nothing: removed
};

enum class SandboxSort : std::uint8_t {
  kCreatedAt,
  kName,
  kState,
  kStoppedAt,
  kIdleTtl,
  kDeleteAfterStop
};

struct SandboxQuery {
  std::string name_contains;  // case-insensitive; empty: all
  std::optional<SandboxState> state;
  std::string created_by;  // empty: all
  std::string claim{};     // the one that has it; empty: all
  std::vector<std::pair<std::string, std::optional<std::string>>>
      labels;  // key or key=value, ANDed
  SandboxSort sort = SandboxSort::kCreatedAt;
  bool descending = true;
  std::uint32_t offset = 0;
  std::uint32_t limit = 0;  // 0: all
};

struct SandboxPage {
  std::vector<Sandbox> items;
  bool more = false;  // there are rows after these
};

// Usage of one tenant, and of the host as far as a tenant may know.
struct UsageSummary {
  std::uint64_t cpu_limit_millicores = 0, cpu_used_millicores = 0;
  std::uint64_t memory_limit_bytes = 0, memory_used_bytes = 0;
  std::uint32_t sandboxes_limit = 0, running = 0, stopped = 0, snapshots = 0;
};

}  // namespace cay
