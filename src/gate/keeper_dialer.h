// KeeperDialer: the part of the gate that serves cannot make sockets of this host's own (confinement.h), so the one that
// starts it connects it to keepers: by a sandbox's id, in DATA/gate and nowhere else.
#pragma once
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"
#include "base/unique_fd.h"

namespace cay::gate {

inline constexpr std::size_t kIdLength = 36;
// What is asked for instead of a sandbox, to be connected to the broker (DATA/vault/gate.sock).
inline constexpr const char* kBrokerWord = "vault";

// Whether it is what sandboxes are called by: no path is made of anything else.
bool is_sandbox_id(std::string_view text);

// Its end: asks, and waits for the answer, which takes no longer than a connect on this host that does not wait.
class KeeperDialer {
 public:
  explicit KeeperDialer(UniqueFd asks) : asks_(std::move(asks)) {}
  // DATA/gate/ID.sock, non-blocking; the connect's errno. EAGAIN: no answer in a quarter of a second, ask again.
  Result<UniqueFd> dial(const std::string& sandbox_id) const;

 private:
  UniqueFd asks_;
};

// The other end: answers what is asked for on `asks`, which does not block. False: nobody asks any more, who asks is no gate, or takes no
// answers; who cannot be connected to keepers is of no use.
bool answer_dial(int asks, int gate_directory);

}  // namespace cay::gate
