// Boots: the one place that makes a sandbox run: queueing, booting, the deadline, and cleaning up
// after every way in which it can fail.
#pragma once
#include <boost/asio/cancellation_signal.hpp>
#include <memory>
#include <optional>
#include <vector>

#include "async/event.h"
#include "core/admission.h"
#include "core/in_flight.h"
#include "core/jobs.h"
#include "core/ports/runtime.h"
#include "core/profiles.h"
#include "model/limits.h"
#include "model/sandbox.h"
#include "policy/catalogue.h"

namespace cay::core {

class Proxies;
class Registry;
struct Entry;

enum class BootKind : std::uint8_t {
  kFirst,  // created, and answered before: if it fails the row stays, failed, with the reason; a
           // daemon's end does not end it
  kEphemeral,  // created by a caller who waits: if it fails nothing is left
  kStart,      // requested: if it fails the row becomes failed, with the reason
  kWake,       // for a command or file call: if the host is full it stays stopped
};

// One boot under way.
struct Boot {
  Boot(asio::any_io_executor loop, BootKind k, Limits l)
      : kind(k), limits(l), done(std::move(loop)) {}

  // The first reason counts. The boot's parts are unmade, and then `done` is set with the reason.
  void give_up(Error why) {
    if (done.is_set() || cancelled) return;
    cancelled = std::move(why);
    cancel.emit(boost::asio::cancellation_type::terminal);
  }

  BootKind kind;
  const Limits
      limits;  // admitted and booted with; the row's may be changed meanwhile, for the next start
  Event done;
  Result<void> result;  // valid when done
  std::optional<Error> cancelled;
  bool in_runtime = false;  // admitted: from here on the deadline is the boot's own
  boost::asio::cancellation_signal cancel;
};

// Returns what the first boot of a new sandbox takes, as far as its row has it. The disk and the
// network's need are the creation's own. Fails if a volume's row cannot be read.
Result<BootSpec> boot_spec_of(Registry& registry, const Sandbox& row, const Limits& limits);

class Boots {
 public:
  Boots(std::shared_ptr<Registry> registry, Proxies& proxies, Profiles profiles, Jobs& jobs);

  // Begins a job that boots the sandbox, whose row is (or becomes) kProvisioning. The entry has no
  // boot, stop or removal under way. Fails runtime_not_configured, and kPermissionDenied
  // (profile_not_allowed) if the sandbox ran before and the operator no longer allows its profile.
  // A sandbox that ran before also fails kConflict (volume_in_use). A caller checks a new one
  // before it has a row.
  // `by` is the key that requested it, for the event.
  Result<std::shared_ptr<Boot>> begin(std::shared_ptr<Entry> entry, BootKind kind,
                                      Event::Deadline deadline, const std::string& by = {});

  // Returns creations (kFirst) that the last daemon had answered and not made. Each is to be begun
  // again, or reported as over.
  Result<std::map<SandboxId, std::string>> open(const std::vector<Sandbox>& rows);
  void over(const SandboxId& creation);

  // Called before the row of a sandbox with room changes to `next`. Its running limits stay on
  // record until its next start, for a daemon that adopts it.
  Result<void> keep_in_force(const Entry& entry, const Limits& next);
  // Returns the limits that an adopted sandbox runs with.
  Limits in_force(const Sandbox& row) const;
  void forget(const SandboxId& gone);

  // The next boot of a sandbox that rests removes what is on its disk first, and stands on `layer`,
  // which its row has by then. It holds after the end of any process.
  Result<void> renew_disk(const SandboxId& id, const LayerId& layer);
  // That boot has been: what is on the disk stays.
  void has_its_disk(const SandboxId& id);

  // The daemon ends: sandboxes may finish booting until the deadline. The rest is given up.
  asio::awaitable<void> end(Event::Deadline deadline);

  // The number of sandboxes that boot, or wait for it.
  int under_way() const { return under_way_; }

  // Returns what a queued sandbox waits for (kExhausted).
  std::optional<Error> waits_for(const Entry& entry) const;

 private:
  Task<void> job(std::shared_ptr<Entry> entry, std::shared_ptr<Boot> boot,
                 Event::Deadline deadline);
  Task<std::shared_ptr<LiveSandbox>> attempt(std::shared_ptr<Entry> entry,
                                             std::shared_ptr<Boot> boot, Event::Deadline deadline);
  Task<std::shared_ptr<LiveSandbox>> guarded_attempt(std::shared_ptr<Entry> entry,
                                                     std::shared_ptr<Boot> boot,
                                                     Event::Deadline deadline);
  Task<std::shared_ptr<LiveSandbox>> boot_in_place_of_spare(std::shared_ptr<Entry> entry,
                                                            std::shared_ptr<Boot> boot,
                                                            Event::Deadline deadline);
  Task<void> go_by_the_row(std::shared_ptr<Entry> entry, policy::Choice told);
  Result<void> succeed(Entry& entry, std::shared_ptr<LiveSandbox> live);
  asio::awaitable<void> clean(std::shared_ptr<Entry> entry, std::shared_ptr<Boot> boot, Error why);

  std::shared_ptr<Registry> registry_;
  Proxies& proxies_;
  const Profiles profiles_;
  Jobs& jobs_;
  InFlight begun_;
  InFlight fresh_disks_;  // sandboxes whose next boot empties the disk, with the layer
  InFlight in_force_;     // memory and CPU of sandboxes whose row has other limits
  int under_way_ = 0;
};

}  // namespace cay::core
