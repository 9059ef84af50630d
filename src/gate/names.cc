#include "gate/names.h"

#include <algorithm>

namespace cay::gate {

void Names::note(const std::string& name, const std::vector<IpAddress>& addresses) {
  const auto found = by_name_.find(name);
  if (found != by_name_.end()) {
    entries_.splice(entries_.begin(), entries_, found->second);
    found->second->addresses = addresses;
    return;
  }
  if (entries_.size() >= kMost) {
    by_name_.erase(entries_.back().name);
    entries_.pop_back();
  }
  entries_.push_front({name, addresses});
  by_name_[name] = entries_.begin();
}

std::vector<std::string> Names::of(const IpAddress& address, std::size_t most) const {
  std::vector<std::string> out;
  for (const Entry& entry : entries_) {
    if (out.size() >= most) break;
    if (std::ranges::find(entry.addresses, address) != entry.addresses.end())
      out.push_back(entry.name);
  }
  return out;
}

}  // namespace cay::gate
