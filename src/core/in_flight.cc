#include "core/in_flight.h"

#include <algorithm>
#include <sstream>

namespace cay::core {
// Words with blanks between: `ID`, or `ID=REASON`.
Result<std::map<SandboxId, std::string>> InFlight::open() {
  CAY_TRY(const auto stored, store_.get_meta(key_));
  if (!stored) {
    CAY_CHECK(store_.put_meta(key_, ""));
  }  // from the first start on: a stop adds no row
  std::istringstream words(stored.value_or(""));
  for (std::string word; words >> word;) {
    const auto id_ends = std::min(word.find('='), word.size());
    begun_[SandboxId(word.substr(0, id_ends))] = word.substr(std::min(id_ends + 1, word.size()));
  }
  return begun_;
}

Result<void> InFlight::begin(const SandboxId& id, const std::string& why) {
  if (!begun_.try_emplace(id, why).second) return {};
  return write();
}

Result<void> InFlight::over(const SandboxId& id) {
  if (begun_.erase(id) == 0) return {};
  return write();
}

std::string InFlight::why(const SandboxId& id) const {
  const auto found = begun_.find(id);
  return found == begun_.end() ? std::string() : found->second;
}

Result<void> InFlight::write() const {
  std::string text;
  for (const auto& [id, why] : begun_)
    text += (text.empty() ? "" : " ") + id.get() + (why.empty() ? "" : "=" + why);
  return store_.put_meta(key_, text);
}

}  // namespace cay::core
