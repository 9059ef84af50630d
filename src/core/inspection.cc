#include "core/inspection.h"

#include <algorithm>

#include "async/deadline.h"
#include "core/errors.h"
#include "core/policy_advice.h"

namespace cay::core {
namespace {

// Another process writes the log and sends no notice.
constexpr std::chrono::milliseconds kLookEvery{100};

}  // namespace

Task<SandboxStats> InspectionVerbs::stats(Principal who, std::string ref) {
  CAY_CO_TRY(const auto entry, registry_->find_served(who, ref));
  // Looking is not using: nothing is woken, and what does not run uses nothing.
  const auto live = entry->live;
  if (!live) co_return SandboxStats{};
  auto numbers = co_await live->stats();
  co_return numbers;
}

Task<ProgramPage> InspectionVerbs::programs(Principal who, std::string ref, std::uint64_t offset,
                                            std::uint32_t limit) {
  CAY_CO_TRY(const auto entry, registry_->find_served(who, ref));
  if (!entry->row.record_programs) {
    co_return Error{Code::kNotFound, "programs_not_recorded",
                    "sandbox '" + entry->row.name +
                        "' keeps no program record: create one with record_programs",
                    0};
  }
  auto page = co_await entry->host->runtime.programs(entry->row.id, offset, limit);
  co_return page;
}

Task<NetworkReport> InspectionVerbs::network(Principal who, std::string ref) {
  CAY_CO_TRY(const auto entry, registry_->find_served(who, ref));
  auto report = co_await entry->host->runtime.network(entry->row.id);
  if (report) {
    // The gate's report may be of an earlier start.
    const bool way_out = entry->live != nullptr && entry->row.network.state == NetworkState::kOn;
    const auto told_by = entry->told.by.lock();
    if (told_by != nullptr && told_by == entry->live) {
      report->policy = entry->told.policy;
      report->rules = entry->told.rules;
    }
    report->running_policy = entry->live == nullptr ? ""
                             : way_out              ? std::move(report->policy)
                                                    : "off";
    report->running_rules = way_out ? std::move(report->rules) : "";
    report->policy = entry->row.policy;
    report->rules = entry->row.rules;
    report->network = entry->row.network;
    auto work = [report = *std::move(report), policies = defaults_.policies,
                 networks = defaults_.networks, is_own = defaults_.is_own_address,
                 proxied = proxies_.hosts_of(entry->row)]() mutable {
      report.policy_allowed = policies->check_allowed({report.policy, report.rules}).has_value();
      advise_report(report, {*policies, networks, proxied, is_own});
      return std::move(report);
    };
    report = co_await rule_work_.run(who.tenant, std::move(work));
  }
  co_return report;
}

Task<DecidedPage> InspectionVerbs::decisions(Principal who, std::string ref, DecidedQuery query,
                                             std::chrono::milliseconds wait) {
  const auto deadline = deadline_in(wait);
  for (;;) {
    // Each time: it may be gone meanwhile.
    CAY_CO_TRY(const auto entry, registry_->find_served(who, ref));
    auto page = co_await entry->host->runtime.decisions(entry->row.id, query);
    if (!page || !page->items.empty() || page->missed > 0) co_return page;
    const auto now = std::chrono::steady_clock::now();
    if (now >= deadline || jobs_.closing) co_return page;
    query.after = page->next_after;
    query.from_oldest = query.from_now = false;
    query.seen = page->mark;
    co_await sleep_for(std::chrono::duration_cast<Millis>(
        std::min<std::chrono::steady_clock::duration>(kLookEvery, deadline - now)));
  }
}

}  // namespace cay::core
