// GrantVersions: decides which of the daemon's messages about a sandbox is the newest.
//
// A message that arrives late must not undo a newer one. It does no I/O.
#pragma once
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <string>

#include "wire/vault.h"

namespace cay::vault {

class GrantVersions {
 public:
  // Call it as soon as a message arrives: from then on messages of earlier daemons are outdated.
  void received(const wire::VaultTurn& turn);
  // Returns whether a newer message about this sandbox was applied before.
  bool is_outdated(const std::string& sandbox_id, const wire::VaultTurn& turn) const;
  // The message was applied: the sandbox has a grant, or has none any more.
  void granted(const std::string& sandbox_id, const wire::VaultTurn& turn) {
    last_[sandbox_id] = {turn, false};
  }
  void revoked(const std::string& sandbox_id, const wire::VaultTurn& turn);

  // How many revoked sandboxes are remembered. No message about an older one is still on its way.
  static constexpr std::size_t kMostRevoked = 4096;

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
