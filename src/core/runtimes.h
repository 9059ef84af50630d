// Runtimes holds the runtimes with which this daemon makes sandboxes, by name. A sandbox's row has
// the name of its runtime.
#pragma once
#include <deque>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/admission.h"
#include "core/disk_room.h"
#include "core/make_core.h"
#include "core/ports/runtime.h"
#include "core/settings.h"

namespace cay::core {

// A runtime that the core is given. It outlives the core.
struct NamedRuntime {
  std::string name;
  Runtime& runtime;
  // The room for its sandboxes. Absent: it runs them on this host, and shares its capacity.
  std::optional<HostCapacity> capacity{};
};

// A runtime, and the room for its sandboxes.
struct RuntimeHost {
  std::string name;
  Runtime& runtime;
  Admission& admission;
  DiskRoom disk;
  // The temporary sandboxes of Cay's own that exist now (core/builder.h): they have no rows.
  std::shared_ptr<std::set<SandboxId>> builders = std::make_shared<std::set<SandboxId>>();
};

class Runtimes {
 public:
  // `all` is not empty, and its names differ. The first one makes sandboxes of `default`.
  Runtimes(asio::any_io_executor loop, std::vector<NamedRuntime> all, const HostLimits& limits,
           HostCapacity host, Millis overtake_limit);

  const RuntimeHost& first() const { return hosts_.front(); }
  const std::deque<RuntimeHost>& all() const { return hosts_; }
  // Null: the daemon was started without it.
  const RuntimeHost* find(const std::string& name) const;

  // The tenants' quotas of sandboxes, which count over all runtimes.
  Admission& slots() { return rooms_.front(); }
  // Each capacity once.
  const std::deque<Admission>& rooms() const { return rooms_; }
  std::uint64_t memory_limit() const;  // of all; 0: unknown
  std::uint64_t cpu_limit() const;     // of all, in millicores; 0: unknown

 private:
  std::deque<Admission> rooms_;    // first: this host's
  std::deque<RuntimeHost> hosts_;  // never moved: entries point at them
};

// Several runtimes side by side; otherwise as make_core() of make_core.h, where the one is
// `native`.
std::unique_ptr<Cay> make_core(asio::any_io_executor loop, std::vector<NamedRuntime> runtimes,
                               Store& store, Clock& clock, CoreConfig config);

}  // namespace cay::core
