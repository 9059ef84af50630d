// Registry: every sandbox that this daemon knows. It has the row, and the parts that only memory
// holds: the connection to its keeper, its users, the work under way. Rows are written to the store
// first.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "async/event.h"
#include "async/mutex.h"
#include "core/admission.h"
#include "core/boot.h"
#include "core/errors.h"
#include "core/jobs.h"
#include "core/ports/runtime.h"
#include "core/ports/store.h"
#include "core/runtimes.h"
#include "core/spare.h"
#include "core/timeline.h"
#include "model/principal.h"

namespace cay::core {

struct Entry {
  Entry(asio::any_io_executor loop, Sandbox first, const RuntimeHost* at)
      : row(std::move(first)), host(at), turn(std::move(loop)) {}

  Sandbox row;
  const RuntimeHost* const host;      // of its runtime; null: the daemon was started without it
  std::shared_ptr<LiveSandbox> live;  // while kReady or kPaused
  Mutex turn;  // held by what changes its state: one boot, stop or removal at a time
  std::shared_ptr<Boot> boot;              // under way
  std::optional<Spare> spare{};            // its first boot takes this
  std::optional<std::string> death;        // reported while it booted
  std::shared_ptr<Outcome<void>> removal;  // under way
  bool stopping = false;
  std::shared_ptr<Event> still{};      // while it is held still for a moment: calls wait for it
  std::optional<SandboxId> disk_of{};  // its first boot copies the disk of this one
  std::string removed_by{};            // the key that requested its removal
  bool ended_unseen = false;           // while no daemon was there
  bool erased = false;                 // the row is gone; whoever still holds the entry lets go
  bool unsaved = false;                // the store could not be written: tried again by the timers
  bool network_required = false;       // its creation requested a policy by name
  bool timed = false;                  // a timer's job is under way
  LifeMillis timer_retry_at = 0;       // after one failed
  int holds = 0;                       // calls, streams and readers that use it
  UnixMillis last_active = 0;          // newer than the row's
  std::uint64_t bytes_in = 0, bytes_out = 0;  // through Cay, since the meter took them
  LifeMillis active_mark = 0;                 // the same moment for the timers
  LifeMillis awake_until = 0;  // no idle stop before: of an adopted one, for clients to come back
  struct Told {
    std::weak_ptr<LiveSandbox> by;  // while `live` is this one
    std::string policy, rules;
  };
  Told told;     // the policy that the gate last acknowledged, before its own report has it
  Grant slot;    // one sandbox of the tenant's quota
  Grant room;    // memory and CPU, while it runs or boots
  Limits given;  // what that room is of; the row may have others for the next start

  bool runs() const {
    return row.state == SandboxState::kReady || row.state == SandboxState::kPaused;
  }
  bool rests() const {
    return row.state == SandboxState::kStopped || row.state == SandboxState::kFailed;
  }
  // Fails kUnavailable (runtime_not_configured).
  Result<void> check_runtime() const {
    if (host != nullptr) return {};
    return runtime_not_configured("sandbox '" + row.name + "'", row.runtime);
  }
  bool removing() const { return removal != nullptr || row.state == SandboxState::kDeleting; }
};

class Registry {
 public:
  Registry(asio::any_io_executor loop, const Runtimes& runtimes, Store& store, Clock& clock)
      : loop_(std::move(loop)),
        runtimes_(runtimes),
        store_(store),
        clock_(clock),
        time_(clock, store) {}

  // By id or name, inside the caller's tenant, and no other than the one that their key is for;
  // kNotFound (sandbox_not_found).
  Result<std::shared_ptr<Entry>> find(const Principal& who, const std::string& ref);
  // The same, and fails kUnavailable (runtime_not_configured).
  Result<std::shared_ptr<Entry>> find_served(const Principal& who, const std::string& ref);
  std::shared_ptr<Entry> by_id(const SandboxId& id) const;  // null if there is none
  std::vector<std::shared_ptr<Entry>> entries() const;

  // A new row; fails as Store::insert does.
  Result<std::shared_ptr<Entry>> insert(Sandbox row);
  // A row of the store, at start.
  std::shared_ptr<Entry> load(Sandbox row);
  // save() and record() take the claim from a sandbox that fails or is being deleted.
  // Changes what is about to be: memory changes only if the store took it. Stamps updated_at. `by`
  // is the key, for the event.
  Result<void> save(Entry& entry, Sandbox next, const std::string& by = {});
  // Records what has happened: memory has it in any case, and the timers write it again if need be.
  void record(Entry& entry, Sandbox next);
  // Writes an unsaved row again.
  void rewrite(Entry& entry);
  Result<void> erase(Entry& entry);

  // Marks use. Written at most every 30 s: a restart loses no more.
  void touch(Entry& entry);
  // Notes in `row` that it ceased to run now, or that it runs.
  void note_stop(Sandbox& row) const;
  static void note_start(Sandbox& row);
  // The row as callers see it.
  Sandbox shown(const Entry& entry) const;

  Store& store() { return store_; }
  Clock& clock() { return clock_; }
  Timeline& time() { return time_; }  // what timers go by
  asio::any_io_executor loop() const { return loop_; }

  // Called when a timer may have become due earlier.
  std::function<void()> on_change;
  // Called when nobody uses a sandbox any more: its idle time begins.
  std::function<void(const Entry&)> on_idle;
  // Run before everything in a sandbox is ended: the last look at what it used.
  std::function<Task<void>(std::shared_ptr<Entry>)> last_look;
  // Called when a sandbox went from one state to another (not for the rows read at start).
  std::function<void(const std::shared_ptr<Entry>&)> on_state;
  // Called when a sandbox and its row are gone.
  std::function<void(const SandboxId&)> on_erased;

 private:
  void changed() {
    if (on_change) on_change();
  }
  void moved(const Entry& entry, SandboxState before) const {
    if (before != entry.row.state && on_state) on_state(by_id(entry.row.id));
  }
  asio::any_io_executor loop_;
  const Runtimes& runtimes_;
  Store& store_;
  Clock& clock_;
  Timeline time_;
  std::map<SandboxId, std::shared_ptr<Entry>> entries_;
};

// Keeps a sandbox awake while it lives, and marks its use at both ends.
class Hold {
 public:
  Hold() = default;
  Hold(std::shared_ptr<Registry> registry, std::shared_ptr<Entry> entry);
  Hold(Hold&&) noexcept = default;
  Hold& operator=(Hold&& other) noexcept;
  ~Hold() { release(); }

 private:
  void release();
  std::shared_ptr<Registry> registry_;
  std::shared_ptr<Entry> entry_;
};

}  // namespace cay::core
