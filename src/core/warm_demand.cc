#include "core/warm_demand.h"

#include <algorithm>

namespace cay::core {
namespace {

constexpr std::chrono::seconds kRecent{10};
constexpr std::chrono::minutes kHalves{1};
constexpr std::chrono::minutes kIdle{10};
constexpr std::size_t kMostKinds = 64;
constexpr std::uint32_t kOftenEnough = 2;
constexpr std::uint32_t kMostHalvings = 31;

}  // namespace

void WarmDemand::created(const BootSpec& kind, Moment now) {
  Known& one = known(kind, now);
  one.seen = std::min(one.seen + 1, kOftenEnough);
  one.recent.push_back(now);
  while (one.recent.size() > most_ || (!one.recent.empty() && now - one.recent.front() > kRecent))
    one.recent.pop_front();
  const auto recent = static_cast<std::uint32_t>(one.recent.size());
  if (recent >= level(one, now)) {
    one.peak = recent;
    one.peak_at = now;
  }
  one.last = now;
}

void WarmDemand::expect(const BootSpec& kind, Moment now) {
  Known& one = known(kind, now);
  one.seen = kOftenEnough;
  one.last = now;
}

void WarmDemand::forget(const BootSpec& kind) {
  std::erase_if(known_, [&](const Known& one) { return one.kind == kind; });
}

std::vector<std::pair<BootSpec, std::uint32_t>> WarmDemand::wanted(Moment now) {
  forget_idle(now);
  std::vector<std::pair<BootSpec, std::uint32_t>> out;
  std::uint64_t sum = 0;
  for (const Known& one : known_) {
    if (const std::uint32_t count = level(one, now)) {
      out.emplace_back(one.kind, count);
      sum += count;
    }
  }
  std::ranges::sort(out, std::ranges::greater(), [](const auto& one) { return one.second; });
  // Each gets its part of the whole, at least one while there are some left.
  std::uint32_t left = most_;
  for (auto& [kind, count] : out) {
    const std::uint64_t part = sum > most_ ? std::uint64_t{count} * most_ / sum : count;
    count = std::min(left, static_cast<std::uint32_t>(std::max<std::uint64_t>(part, 1)));
    left -= count;
  }
  std::erase_if(out, [](const auto& one) { return one.second == 0; });
  return out;
}

WarmDemand::Known& WarmDemand::known(const BootSpec& kind, Moment now) {
  const auto found =
      std::ranges::find_if(known_, [&](const Known& one) { return one.kind == kind; });
  if (found != known_.end()) return *found;
  forget_idle(now);
  if (known_.size() >= kMostKinds) {
    known_.erase(std::ranges::min_element(known_, {}, [](const Known& one) { return one.last; }));
  }
  Known fresh;
  fresh.kind = kind;
  known_.push_back(std::move(fresh));
  return known_.back();
}

void WarmDemand::forget_idle(Moment now) {
  std::erase_if(known_, [&](const Known& one) { return now - one.last >= kIdle; });
}

std::uint32_t WarmDemand::level(const Known& one, Moment now) {
  const auto halvings = std::min<std::int64_t>((now - one.peak_at) / kHalves, kMostHalvings);
  const std::uint32_t peak = one.peak >> halvings;
  return one.seen < kOftenEnough ? 0 : std::max(peak, 1U);
}

}  // namespace cay::core
