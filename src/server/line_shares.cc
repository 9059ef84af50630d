#include "server/line_shares.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <string>

#include "server/guards.h"
#include "server/route_class.h"

namespace cay::server {
namespace {

constexpr std::uint32_t kStrangersPerSecond = 20, kAllStrangersPerSecond = 200, kRefusedPerSecond = 20, kLooksPerSecond = 200, kByLinkPerSecond = 200;
constexpr std::size_t kMostCallers = 4096, kMostLooking = 4 * kMostCallers;  // looking: by class of routes
constexpr std::chrono::seconds kTellBeforeStrangers{1};
// Each kind has its own places among those that are told, so that no number of networks or links hides a key.
constexpr std::array<std::size_t, 3> kMostOfKind{10, 5, 5};
static_assert(std::accumulate(kMostOfKind.begin(), kMostOfKind.end(), std::size_t{0}) == LineShares::kMostTold);
constexpr std::size_t kMostNetwork = 64;  // behind a proxy it is what that says
constexpr std::size_t kMostMethod = 32, kMostTarget = 512, kMostOfRefused = 200, kMostSubject = 2048, kMostEnd = 200;

bool is_stranger(const AccessRecord& record) { return record.principal.empty() && record.link.empty(); }
bool is_refused(const AccessRecord& record) { return record.status >= 400 && record.status < 500; }

constexpr int kSwitched = 101;  // to a WebSocket
// By a link, which comes to a service of its sandbox: calls that may change something there, and WebSockets.
bool acts_by_link(const AccessRecord& record) {
  const bool lasts = record.part == AccessRecord::Part::kBegin && record.status == kSwitched;
  return !record.link.empty() && (lasts || may_change(record.method));
}

using Caller = LineShares::Caller;
Caller caller_of(const AccessRecord& record) {
  if (!record.link.empty()) return {Caller::Kind::kLink, "", record.link};
  if (!record.principal.empty()) return {Caller::Kind::kKey, record.tenant, record.principal};
  return {Caller::Kind::kNetwork, "", network_of_peer(record.peer).substr(0, kMostNetwork)};
}

std::string name_of(const AccessRecord& record) {
  const Caller caller = caller_of(record);
  switch (caller.kind) {
    case Caller::Kind::kKey: return "key " + caller.tenant + "/" + caller.name;
    case Caller::Kind::kLink: return "link " + caller.name;
    case Caller::Kind::kNetwork: return "network " + caller.name;
  }
  return {};
}

}  // namespace

LineShares::LineShares(Clock& clock)
    : clock_(&clock),
      strangers_(kStrangersPerSecond, 1, clock, kMostCallers),
      all_strangers_(kAllStrangersPerSecond, 1, clock, 1),
      refused_(kRefusedPerSecond, 1, clock, kMostCallers),
      looks_(kLooksPerSecond, 2, clock, kMostLooking),
      by_link_(kByLinkPerSecond, 2, clock, kMostCallers) {}

bool LineShares::fits(const AccessRecord& record) {
  if (record.part == AccessRecord::Part::kEnd) return record.acts || record.begin_is_written;
  if (record.acts && !is_refused(record)) return true;
  const std::string name = name_of(record);
  if (is_stranger(record)) return strangers_.take(name) && all_strangers_.take("strangers");
  if (is_refused(record)) return refused_.take(name);
  return acts_by_link(record) ? by_link_.take(name) : looks_.take(name + " " + std::string(route_class(record.route)));
}

bool LineShares::take(const AccessRecord& record) {
  if (fits(record)) return true;
  count(record);
  return false;
}

void LineShares::count(const AccessRecord& record) {
  const bool refused = is_stranger(record) || is_refused(record), acts = acts_by_link(record);
  const auto add = [&](Count& to) { ++(refused ? to.refused : acts ? to.acts : to.looks); };
  add(all_);
  const std::pair key{caller_of(record), route_class(record.route)};
  auto at = parts_.find(key);
  if (at == parts_.end()) {
    const auto kind = key.first.kind;
    const auto told = std::ranges::count_if(parts_, [kind](const auto& one) { return one.first.first.kind == kind; });
    if (static_cast<std::size_t>(told) >= kMostOfKind.at(static_cast<std::size_t>(kind))) return add(others_);
    at = parts_.try_emplace(key).first;
  }
  add(at->second);
}

LineShares::LeftOut LineShares::left_out(const AccessRecord& record) {
  const auto now = clock_->steady();
  if (!all_.any() || (is_stranger(record) && now < told_ + kTellBeforeStrangers)) return {};
  told_ = now;
  LeftOut out{.all = std::exchange(all_, {}), .parts = {}, .others = std::exchange(others_, {})};
  for (const auto& [of, count] : std::exchange(parts_, {})) out.parts.push_back({of.first, of.second, count});
  return out;
}

bool has_changed(const AccessRecord& record) {
  const bool unanswered = record.part == AccessRecord::Part::kBegin && record.status == 0;  // its end will tell
  // A status of 400 to 499 does not say that nothing was done: a command that outlived its time was run, and of several writes the first ones were.
  const bool never_begun = is_refused(record) && record.part != AccessRecord::Part::kEnd;
  return record.acts && !unanswered && !never_begun;
}

std::string changes_file(const AccessRecord& record) {
  if (record.scope == KeyScope::kAdmin) return "audit-changes.log";
  return "audit-changes/" + record.tenant + (record.scope == KeyScope::kUse ? "/use.log" : "/create.log");
}

void shorten(AccessRecord& record) {
  const auto cut = [](std::string& text, std::size_t most) {
    if (text.size() > most) text.resize(most);
  };
  cut(record.method, kMostMethod);
  const bool refused = is_stranger(record) || is_refused(record);
  cut(record.target, refused ? kMostOfRefused : kMostTarget);
  cut(record.subject, refused ? kMostOfRefused : kMostSubject);
  cut(record.ended, kMostEnd);
}

}  // namespace cay::server
