#include "core/claims.h"

#include "core/errors.h"
#include "core/lifecycle.h"
#include "core/validate.h"

namespace cay::core {
namespace {

Error claim_timeout(const std::string& claim) {
  return {Code::kDeadlineExceeded, "boot_timeout",
          "the sandbox of the claim '" + claim +
              "' did not start in the time allowed, and goes on starting: try again",
          0};
}

bool holds(const Entry& entry, const std::string& claim) {
  return !entry.erased && entry.row.claim == claim;
}

}  // namespace

Task<Ensured> ClaimVerbs::ensure(Principal who, SandboxSpec spec, std::string claim,
                                 CreateOptions options) {
  CAY_CO_CHECK(check_claim(claim));
  spec.claim = claim;
  const Key key{who.tenant, claim};
  const auto deadline = deadline_in(options.timeout);
  for (;;) {
    CAY_CO_TRY(const auto entry, holder_of(who, claim));
    if (entry && !options.wait_for_ready) {
      if (entry->row.state == SandboxState::kStopped || entry->stopping)
        jobs_.spawn(bring_up(entry, claim, who.key_name, deadline_in(timing_.boot_limit)));
      co_return Ensured{registry_->shown(*entry), false};
    }
    Making making;
    if (const auto under_way = making_->find(key); under_way != making_->end())
      making = under_way->second;
    if (making) {
      const bool over = co_await making->done.wait_until(deadline);
      if (!over) co_return claim_timeout(claim);
      if (!making->result) co_return making->result.error();
      if (!options.wait_for_ready) co_return Ensured{*making->result, false};
      continue;  // it may have been made for a caller that does not wait until it is ready
    }
    if (entry) {
      CAY_CO_CHECK(co_await bring_up(entry, claim, who.key_name, deadline));
      if (!holds(*entry, claim)) continue;
      registry_->touch(*entry);
      co_return Ensured{registry_->shown(*entry), false};
    }
    making = std::make_shared<Outcome<Sandbox>>(jobs_.loop());
    (*making_)[key] = making;
    jobs_.spawn(make(who, std::move(spec), options, making));
    co_await making->done.wait();
    if (!making->result) co_return making->result.error();
    co_return Ensured{*making->result, true};
  }
}

Result<std::shared_ptr<Entry>> ClaimVerbs::holder_of(const Principal& who,
                                                     const std::string& claim) {
  SandboxQuery query;
  query.claim = claim;
  CAY_TRY(const SandboxPage page, registry_->store().list(who.tenant, query));
  for (const Sandbox& row : page.items) {
    const auto entry = registry_->by_id(row.id);
    if (!entry || !holds(*entry, claim)) continue;
    return registry_->find_served(who, row.id.get());
  }
  return std::shared_ptr<Entry>();
}

Task<void> ClaimVerbs::make(Principal who, SandboxSpec spec, CreateOptions options, Making making) {
  // Those that wait are woken however the creation ends.
  struct Over {
    const std::shared_ptr<std::map<Key, Making>> all;
    const Key key;
    const Making making;
    ~Over() {
      all->erase(key);
      making->done.set();
    }
  } over{making_, {who.tenant, spec.claim}, making};
  making->result = Error{Code::kInternal, "job_failed", "the work ended by an unforeseen fault", 0};
  auto made = co_await sandboxes_.create(std::move(who), std::move(spec), options);
  making->result = std::move(made);
  co_return Result<void>();
}

Task<void> ClaimVerbs::bring_up(std::shared_ptr<Entry> entry, std::string claim, std::string by,
                                Event::Deadline deadline) {
  bool waited = false;
  for (;;) {
    if (!holds(*entry, claim) || entry->removing()) co_return Result<void>();
    auto boot = entry->boot;
    if (!boot && !entry->stopping) {
      if (entry->runs()) co_return Result<void>();
      if (entry->row.state == SandboxState::kStopped) {
        CAY_CO_TRY(boot, boots_.begin(entry, BootKind::kWake, deadline_in(timing_.boot_limit), by));
      }
    }
    if (boot) {
      const bool done = co_await boot->done.wait_until(deadline);
      if (!done) {
        if (auto obstacle = boots_.waits_for(*entry)) co_return *std::move(obstacle);
        co_return claim_timeout(claim);
      }
      if (!boot->result) co_return boot->result.error();
      continue;
    }
    // It is being stopped, or a daemon that has just started makes it anew.
    if (waited && !entry->stopping)
      co_return not_ready(entry->row.name, "it is being made: try again");
    waited = true;
    const bool ended = co_await stop_ends(entry, deadline);
    if (!ended) co_return claim_timeout(claim);
  }
}

}  // namespace cay::core
