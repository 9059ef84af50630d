#include "server/line_shares.h"

#include <string>

namespace cay::server {
namespace {

constexpr std::uint32_t kStrangersPerSecond = 20, kRefusedPerSecond = 20, kLooksPerSecond = 200;
constexpr std::size_t kMostCallers = 4096;
constexpr std::size_t kMostMethod = 32, kMostTarget = 512, kMostOfRefused = 200, kMostSubject = 2048, kMostEnd = 200;

bool is_stranger(const AccessRecord& record) { return record.principal.empty() && record.link.empty(); }
bool is_refused(const AccessRecord& record) { return record.status >= 400 && record.status < 500; }

std::string name_of(const AccessRecord& record) {
  return record.link.empty() ? "key " + record.tenant + "/" + record.principal : "link " + record.link;
}

}  // namespace

LineShares::LineShares(Clock& clock)
    : strangers_(kStrangersPerSecond, 1, clock, 1), refused_(kRefusedPerSecond, 1, clock, kMostCallers), looks_(kLooksPerSecond, 2, clock, kMostCallers) {}

bool LineShares::fits(const AccessRecord& record) {
  if (record.part == AccessRecord::Part::kEnd) return record.acts || record.begin_is_written;
  if (record.acts && !is_refused(record)) return true;
  if (is_stranger(record)) return strangers_.take("strangers");
  return is_refused(record) ? refused_.take(name_of(record)) : looks_.take(name_of(record));
}

bool LineShares::take(const AccessRecord& record) {
  if (fits(record)) return true;
  ++(is_stranger(record) || is_refused(record) ? left_out_.refused : left_out_.looks);
  return false;
}

bool has_changed(const AccessRecord& record) {
  const bool unanswered = record.part == AccessRecord::Part::kBegin && record.status == 0;  // its end will tell
  return record.acts && !unanswered && !is_refused(record);
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
  cut(record.target, is_stranger(record) || is_refused(record) ? kMostOfRefused : kMostTarget);
  cut(record.subject, kMostSubject);
  cut(record.ended, kMostEnd);
}

}  // namespace cay::server
