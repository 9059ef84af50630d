#include "gate/dns_name_budget.h"

namespace cay::gate {

bool DnsNameBudget::may_ask(const std::string& name, TokenBucket::Time now) {
  if (const auto found = by_name_.find(name); found != by_name_.end()) {
    names_.splice(names_.begin(), names_, found->second);
    return true;
  }
  if (!new_ones_.take(now)) return false;
  if (names_.size() >= kMost) {
    by_name_.erase(names_.back());
    names_.pop_back();
  }
  names_.push_front(name);
  by_name_[names_.front()] = names_.begin();
  return true;
}

}  // namespace cay::gate
