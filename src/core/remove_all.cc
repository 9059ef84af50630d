// remove_all: many removals at once, of which each goes on though others fail or the caller leaves.
#include <algorithm>
#include <set>

#include "core/errors.h"
#include "core/sandboxes.h"

namespace cay::core {
namespace {

constexpr std::size_t kAtOnce = 16;  // the launcher works one by one; more would only wait there

}  // namespace

Task<std::vector<Removal>> SandboxVerbs::remove_all(Principal who, RemovalQuery query) {
  struct Item {
    std::string ref;
    std::shared_ptr<Entry> entry;
    std::shared_ptr<Outcome<void>> outcome;
  };
  std::vector<Item> items;
  std::vector<Removal> out;
  for (auto& ref : query.refs) {
    auto entry = registry_->find(who, ref);
    items.push_back({std::move(ref), entry ? *std::move(entry) : nullptr, nullptr});
  }
  if (query.every || !query.labels.empty()) {
    SandboxQuery which;
    which.labels = std::move(query.labels);
    which.descending = false;
    CAY_CO_TRY(const SandboxPage page, registry_->store().list(who.tenant, which));
    for (const auto& row : page.items) {
      const auto entry = registry_->by_id(row.id);
      const bool named = std::any_of(items.begin(), items.end(),
                                     [&](const Item& item) { return item.entry == entry; });
      if (entry && !named) items.push_back({row.name, entry, nullptr});
    }
  }
  std::size_t begun = 0;
  for (std::size_t i = 0; i < items.size(); ++i) {
    for (; begun < items.size() && begun < i + kAtOnce; ++begun) {
      Item& next = items[begun];
      if (next.entry)
        next.outcome = jobs_.begin<void>(lifecycle_.remove(next.entry, {}, who.key_name));
    }
    const auto outcome = items[i].outcome;
    if (!outcome) {
      out.push_back({items[i].ref, sandbox_not_found(items[i].ref)});
      continue;
    }
    co_await outcome->done.wait();
    out.push_back({items[i].ref, outcome->result});
  }
  co_return out;
}

}  // namespace cay::core
