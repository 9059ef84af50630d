#include "server/audit_budget.h"

#include <string>
#include <utility>

#include "server/guards.h"

namespace cay::server {
namespace {

constexpr std::uint32_t kKnownPerSecond = 200, kKnownSecondsAtOnce = 2;
constexpr std::uint32_t kStrangersPerSecond = 20, kAllStrangersPerSecond = 200;
constexpr std::size_t kMostCallers = 4096;
constexpr std::chrono::seconds kReportEvery{1};
constexpr std::size_t kMostNetwork = 64;  // behind a proxy the proxy chooses it
constexpr std::size_t kMostMethod = 32, kMostTarget = 512, kMostOfRefused = 200;
constexpr std::size_t kMostSubject = 2048, kMostEnd = 200;
constexpr int kSwitched = 101;  // to a WebSocket

bool is_stranger(const AccessRecord& record) {
  return record.principal.empty() && record.link.empty();
}
bool is_refused(const AccessRecord& record) { return record.status >= 400 && record.status < 500; }

// By a link: a call that may change something in the service of its sandbox, or a WebSocket.
bool acts_by_link(const AccessRecord& record) {
  const bool lasts = record.part == AccessRecord::Part::kBegin && record.status == kSwitched;
  return !record.link.empty() && (lasts || may_change(record.method));
}

// Calls that act have a bucket apart: a link's holder hides no change behind other requests.
std::string caller_of(const AccessRecord& record) {
  if (!record.link.empty()) return (acts_by_link(record) ? "acts by " : "link ") + record.link;
  if (!record.principal.empty()) return "key " + record.tenant + "/" + record.principal;
  return "network " + network_of_peer(record.peer).substr(0, kMostNetwork);
}

}  // namespace

AuditBudget::AuditBudget(Clock& clock)
    : clock_(&clock),
      known_(kKnownPerSecond, kKnownSecondsAtOnce, clock, kMostCallers),
      strangers_(kStrangersPerSecond, 1, clock, kMostCallers),
      all_strangers_(kAllStrangersPerSecond, 1, clock, 1) {}

bool AuditBudget::fits(const AccessRecord& record) {
  if (record.part == AccessRecord::Part::kEnd) return record.acts || record.begin_is_written;
  if (record.acts && !is_refused(record)) return true;
  const std::string caller = caller_of(record);
  if (!is_stranger(record)) return known_.take(caller);
  return strangers_.take(caller) && all_strangers_.take("strangers");
}

bool AuditBudget::take(const AccessRecord& record) {
  const bool has_room = fits(record);
  if (!has_room) ++omitted_;
  return has_room;
}

std::uint64_t AuditBudget::take_omitted() {
  const auto now = clock_->steady();
  if (omitted_ == 0 || now < reported_ + kReportEvery) return 0;
  reported_ = now;
  return std::exchange(omitted_, 0);
}

bool has_changed(const AccessRecord& record) {
  const bool unanswered =
      record.part == AccessRecord::Part::kBegin && record.status == 0;  // its end counts
  // A status of 400 to 499 does not mean that nothing was done. A command that outlived its time
  // was run, and of several writes the first ones were done.
  const bool never_begun = is_refused(record) && record.part != AccessRecord::Part::kEnd;
  return record.acts && !unanswered && !never_begun;
}

std::string changes_file(const AccessRecord& record) {
  if (record.scope == KeyScope::kAdmin) return "audit-changes.log";
  return "audit-changes/" + record.tenant +
         (record.scope == KeyScope::kUse ? "/use.log" : "/create.log");
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
