#include "core/wake.h"

#include "core/errors.h"
#include "core/lifecycle.h"

namespace cay::core {

Task<Held> Wake::live(Principal who, std::string ref) {
  CAY_CO_TRY(auto entry, registry_->find(who, ref));
  auto held = co_await live(std::move(entry), std::move(who));
  co_return held;
}

Task<Held> Wake::live(std::shared_ptr<Entry> entry, Principal who) {
  CAY_CO_CHECK(entry->check_runtime());
  const bool may_wake = who.may_wake();
  Held held;
  held.entry = entry;
  if (may_wake) held.hold = Hold(registry_, entry);
  const auto deadline = deadline_in(timing_.wake_wait);
  bool tried = false;
  for (;;) {
    if (entry->erased) co_return sandbox_not_found(entry->row.name);
    if (entry->removing()) co_return not_ready(entry->row.name, "it is being deleted");
    if (entry->stopping) {
      const bool ended = co_await stop_ends(entry, deadline);
      if (!ended) co_return not_ready(entry->row.name, "it is being stopped: try again");
      continue;
    }
    if (const auto still = entry->still) {
      const bool ended = co_await still->wait_until(deadline);
      if (!ended) co_return not_ready(entry->row.name, "its disk is being copied: try again");
      continue;
    }
    if (entry->runs() && entry->live) {
      held.live = entry->live;
      co_return held;
    }
    if (entry->row.state == SandboxState::kFailed) {
      co_return not_ready(entry->row.name,
                          "it failed: " + entry->row.reason + "; " + start_it(entry->row.name));
    }
    auto boot = entry->boot;
    if (!boot) {
      if (!may_wake && entry->row.state == SandboxState::kStopped) {
        co_return not_ready(entry->row.name,
                            "it is stopped, and a key of the scope read starts nothing");
      }
      if (entry->row.state != SandboxState::kStopped || tried) {
        co_return not_ready(entry->row.name,
                            "it is " + std::string(to_string(entry->row.state)) + ": try again");
      }
      CAY_CO_TRY(boot, boots_.begin(entry, BootKind::kWake, deadline_in(timing_.boot_limit),
                                    who.key_name));
      tried = true;
    }
    auto done = co_await boot->done.wait_until(deadline);
    if (!done) {
      if (auto obstacle = boots_.waits_for(*entry)) co_return *std::move(obstacle);
      co_return not_ready(entry->row.name, "it is still starting: try again");
    }
    if (boot->result) continue;
    const Error& why = boot->result.error();
    if (why.code == Code::kExhausted || why.reason == "disk_lost") co_return why;
    co_return not_ready(entry->row.name, why.message);
  }
}

}  // namespace cay::core
