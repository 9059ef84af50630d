// Boots: the one place that makes a sandbox run: queueing, booting, the deadline, and cleaning up
// after every way in which it can fail.
#pragma once
#include <boost/asio/cancellation_signal.hpp>
#include <memory>
#include <optional>
#include <vector>

#include "async/event.h"
#include "core/admission.h"
#include "core/begun.h"
#include "core/jobs.h"
#include "core/make_core.h"
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
  kFirst,      // created, and answered before: if it fails the row stays, failed, with the reason; a daemon's end does not end it
  kEphemeral,  // created by a caller who waits: if it fails nothing is left
  kStart,      // asked for: if it fails the row says failed and why
  kWake,       // by a command or file call: a full host leaves it stopped
};

// One boot under way.
struct Boot {
  Boot(asio::any_io_executor loop, BootKind k, Limits l) : kind(k), limits(l), done(std::move(loop)) {}

  // The first reason counts. What was made is unmade, then `done` is set with it.
  void give_up(Error why) {
    if (done.is_set() || cancelled) return;
    cancelled = std::move(why);
    cancel.emit(boost::asio::cancellation_type::terminal);
  }

  BootKind kind;
  const Limits limits;  // admitted and booted with; the row's may be changed meanwhile, for the next start
  Event done;
  Result<void> result;  // valid when done
  std::optional<Error> cancelled;
  bool in_runtime = false;  // admitted: from here on the deadline is the boot's own
  boost::asio::cancellation_signal cancel;
};

class Boots {
 public:
  Boots(std::shared_ptr<Registry> registry, Runtime& runtime, Admission& admission, Proxies& proxies, Profiles profiles,
        Jobs& jobs);

  // The row is (or becomes) kProvisioning and a job boots it. The entry must have no boot, stop or
  // removal under way. kPermissionDenied (profile_not_allowed): of one that ran before, whose profile the operator allows no more.
  // `by`: the key that asked for it, for the event.
  Result<std::shared_ptr<Boot>> begin(std::shared_ptr<Entry> entry, BootKind kind, Event::Deadline deadline, const std::string& by = {});

  // Creations (kFirst) that the last daemon had answered for and not made; each is to be begun again, or said to be over.
  Result<std::map<SandboxId, std::string>> open(const std::vector<Sandbox>& rows);
  void over(const SandboxId& creation);

  // Before the row of what has room says `next`: the limits that it runs with are on record until its next start, for a daemon that adopts it.
  Result<void> keep_in_force(const Entry& entry, const Limits& next);
  // What one that was adopted runs with.
  Limits in_force(const Sandbox& row) const;
  void forget(const SandboxId& gone);

  // The daemon ends: what comes up may come up until then. What is left is given up.
  asio::awaitable<void> end(Event::Deadline deadline);

  // Of one that is still queued: what it waits for (kExhausted).
  std::optional<Error> waits_for(const Entry& entry) const;

 private:
  Task<void> job(std::shared_ptr<Entry> entry, std::shared_ptr<Boot> boot, Event::Deadline deadline);
  Task<std::shared_ptr<LiveSandbox>> attempt(std::shared_ptr<Entry> entry, std::shared_ptr<Boot> boot,
                                             Event::Deadline deadline);
  Task<std::shared_ptr<LiveSandbox>> guarded_attempt(std::shared_ptr<Entry> entry, std::shared_ptr<Boot> boot,
                                                     Event::Deadline deadline);
  Task<void> go_by_the_row(std::shared_ptr<Entry> entry, policy::Choice told);
  Result<void> succeed(Entry& entry, std::shared_ptr<LiveSandbox> live);
  asio::awaitable<void> clean(std::shared_ptr<Entry> entry, std::shared_ptr<Boot> boot, Error why);

  std::shared_ptr<Registry> registry_;
  Runtime& runtime_;
  Admission& admission_;
  Proxies& proxies_;
  const Profiles profiles_;
  Jobs& jobs_;
  Begun begun_;
  Begun in_force_;  // memory and CPU, of those whose row says otherwise
};

}  // namespace cay::core
