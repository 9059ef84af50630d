// Lifecycle stops sandboxes by request or timer, handles their deaths, and removes them. Everything
// that takes a while runs as a job under the sandbox's turn.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "core/in_flight.h"
#include "core/boot.h"
#include "core/registry.h"

namespace cay::core {

// Waits for the end of a stop that is under way; false: `deadline` came first.
asio::awaitable<bool> stop_ends(std::shared_ptr<Entry> entry, Event::Deadline deadline);

class Lifecycle {
 public:
  Lifecycle(std::shared_ptr<Registry> registry, Jobs& jobs)
      : registry_(std::move(registry)),
        jobs_(jobs),
        stops_in_flight_(registry_->store(), "stopping") {}

  // Stops the sandbox: when this returns, nothing of it runs, and the disk stays. A start under way
  // is given up. `why` becomes the row's reason (kStoppedIdle...; empty: it was requested). `still`
  // is called once its turn has come, and false leaves it as it is (an idle stop that is no longer
  // due). Fails runtime_not_configured, as remove() does.
  Task<void> stop(std::shared_ptr<Entry> entry, std::string_view why = {},
                  std::function<bool()> still = nullptr);

  // Stops that the last daemon had begun. Each is to be taken up again or reported as over.
  InFlight& stops_in_flight() { return stops_in_flight_; }
  Task<void> take_up_stop(std::shared_ptr<Entry> entry) {
    auto why = stops_in_flight_.why(entry->row.id);
    return stop_job(std::move(entry), std::move(why), nullptr);
  }

  // Removes the sandbox from any state. Any number may call it at once: the first one removes, and
  // all get the result. `why` becomes the reason of the row and the events (core/removal_reason.h;
  // empty: it was requested). A sandbox that is being deleted keeps its reason. `by` is the key,
  // for the events.
  Task<void> remove(std::shared_ptr<Entry> entry, std::string_view why = {}, std::string by = {});

  // Ends what is left of one that is stopped or failed; its disk stays. Waits for its turn.
  Task<void> sweep_up(std::shared_ptr<Entry> entry);

  // The runtime reports that the sandbox ended unrequested.
  void died(const SandboxDeath& death);

 private:
  Task<void> stop_job(std::shared_ptr<Entry> entry, std::string why, std::function<bool()> still);
  Task<void> remove_job(std::shared_ptr<Entry> entry);
  void note(Result<void> written);
  void rest(Entry& entry, std::string why);

  std::shared_ptr<Registry> registry_;
  Jobs& jobs_;
  InFlight stops_in_flight_;
};

}  // namespace cay::core
