// The gate's decisions about a sandbox, one by one.
#include "async/deadline.h"
#include "core/sandboxes.h"

namespace cay::core {
namespace {

// Another process writes the log and sends no notice.
constexpr std::chrono::milliseconds kLookEvery{100};

}  // namespace

Task<DecidedPage> SandboxVerbs::decisions(Principal who, std::string ref, DecidedQuery query,
                                          std::chrono::milliseconds wait) {
  const auto deadline = deadline_in(wait);
  for (;;) {
    // Each time: it may be gone meanwhile.
    CAY_CO_TRY(const auto entry, registry_->find(who, ref));
    auto page = co_await runtime_.decisions(entry->row.id, query);
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
