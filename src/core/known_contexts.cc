#include "core/known_contexts.h"

namespace cay::core {
namespace {

constexpr std::size_t kMostKnown = 1000;     // contexts
constexpr std::size_t kMostPlaces = 10'000;  // evaluations of one

}  // namespace

KnownContext::KnownContext(const Context& context, const asio::any_io_executor& loop)
    : generation(context.generation),
      language(context.language),
      command(context.command.id),
      read_to(context.command.out.bytes),
      ledger_from(context.command.err.bytes),
      cold_until(read_to),
      writing(loop),
      reading(loop) {}

void KnownContext::follow(const KnownContext& older) {
  if (older.generation >= generation) return;
  for (const std::string& run : older.order) put(run, older.places.at(run));
}

void KnownContext::put(const std::string& run, ContextPlace at) {
  if (places.insert_or_assign(run, at).second) order.push_back(run);
  if (order.size() <= kMostPlaces) return;
  places.erase(order.front());
  order.pop_front();
}

std::optional<ContextPlace> KnownContext::place_of(const std::string& run) const {
  const auto found = places.find(run);
  return found == places.end() ? std::nullopt : std::optional(found->second);
}

KnownContextPtr KnownContexts::find(const ContextKey& key) const {
  const auto found = known_.find(key);
  return found == known_.end() ? nullptr : found->second;
}

KnownContextPtr KnownContexts::remember(const SandboxId& sandbox, const Context& context) {
  const ContextKey key(sandbox, context.id);
  const auto found = known_.find(key);
  if (found != known_.end()) {
    // One that was made anew under its id has nothing of the older one.
    if (context.command.known && found->second->command == context.command.id) return found->second;
    const auto made = std::make_shared<KnownContext>(context, loop_);
    made->follow(*found->second);
    return found->second = made;
  }
  if (order_.size() >= kMostKnown) {
    known_.erase(order_.front());
    order_.pop_front();
  }
  order_.push_back(key);
  return known_.emplace(key, std::make_shared<KnownContext>(context, loop_)).first->second;
}

void KnownContexts::drop(const ContextKey& key) {
  known_.erase(key);
  std::erase(order_, key);
}

}  // namespace cay::core
