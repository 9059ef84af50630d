// Turns: which words of a daemon about a sandbox count: one that comes late must not undo a newer one. Pure.
#pragma once
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <string>

#include "wire/vault.h"

namespace cay::vault {

class Turns {
 public:
  // At once when a question comes: from then on no word of an earlier daemon counts.
  void heard(const wire::VaultTurn& turn);
  // Whether a newer word about this sandbox was taken before.
  bool overtaken(const std::string& sandbox_id, const wire::VaultTurn& turn) const;
  // It counts: the sandbox has a grant by it, or has none any more.
  void granted(const std::string& sandbox_id, const wire::VaultTurn& turn) { last_[sandbox_id] = {turn, false}; }
  void revoked(const std::string& sandbox_id, const wire::VaultTurn& turn);

  static constexpr std::size_t kMostRevoked =
      4096;  // are remembered: what is older than that is not on its way any more

 private:
  struct Last {
    wire::VaultTurn turn;
    bool revoked = false;
  };
  std::string daemon_;  // the newest
  std::set<std::string> former_;
  std::map<std::string, Last> last_;
  std::deque<std::string> revoked_;
};

}  // namespace cay::vault
