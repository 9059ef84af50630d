#include "vault/grant_versions.h"

#include <utility>

namespace cay::vault {

void GrantVersions::received(const wire::VaultTurn& turn) {
  if (turn.daemon.empty() || turn.daemon == daemon_ || former_.contains(turn.daemon)) return;
  if (!daemon_.empty()) former_.insert(std::exchange(daemon_, {}));
  daemon_ = turn.daemon;
}

bool GrantVersions::is_outdated(const std::string& sandbox_id, const wire::VaultTurn& turn) const {
  if (turn.daemon.empty()) return false;
  if (former_.contains(turn.daemon)) return true;
  const auto last = last_.find(sandbox_id);
  return last != last_.end() && last->second.turn.daemon == turn.daemon &&
         turn.number < last->second.turn.number;
}

void GrantVersions::revoked(const std::string& sandbox_id, const wire::VaultTurn& turn) {
  last_[sandbox_id] = {turn, true};
  revoked_.push_back(sandbox_id);
  if (revoked_.size() <= kMostRevoked) return;
  const auto oldest = last_.find(revoked_.front());
  if (oldest != last_.end() && oldest->second.revoked) last_.erase(oldest);
  revoked_.pop_front();
}

}  // namespace cay::vault
