// KeeperDialer: the part of the gate that serves cannot make sockets of this host's own (confinement.h), so the one that
// starts it connects it to keepers: by a sandbox's id, in DATA/gate and nowhere else.
#pragma once
#include <string>

#include "base/result.h"
#include "base/unique_fd.h"

namespace cay::gate {

// Its end: asks, and waits for the answer, which takes no longer than a connect on this host.
class KeeperDialer {
 public:
  explicit KeeperDialer(UniqueFd asks) : asks_(std::move(asks)) {}
  // DATA/gate/ID.sock, non-blocking; the connect's errno.
  Result<UniqueFd> dial(const std::string& sandbox_id) const;

 private:
  UniqueFd asks_;
};

// The other end: answers what is asked for on `asks`. False: nobody asks any more.
bool answer_dial(int asks, int gate_directory);

}  // namespace cay::gate
