// KeeperDialer: connects the serving process, which cannot make UNIX sockets (confinement.h), to
// keepers. The process that starts it dials them by a sandbox's id, in DATA/gate and nowhere else.
#pragma once
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"
#include "base/unique_fd.h"

namespace cay::gate {

inline constexpr std::size_t kIdLength = 36;
// The word that stands for the broker's socket (DATA/vault/gate.sock) in the place of an id.
inline constexpr const char* kBrokerWord = "vault";

// Whether it is what sandboxes are called by: no path is made of anything else.
bool is_sandbox_id(std::string_view text);

// The requesting end. It waits for the answer, which takes no longer than a non-blocking connect.
class KeeperDialer {
 public:
  explicit KeeperDialer(UniqueFd requests) : requests_(std::move(requests)) {}
  // Connects to DATA/gate/ID.sock, non-blocking. Fails with the connect's errno, and with EAGAIN
  // after a quarter of a second without an answer.
  Result<UniqueFd> dial(const std::string& sandbox_id) const;

 private:
  UniqueFd requests_;
};

// The dialling end. Answers one request that comes on a non-blocking socket. Returns false if the
// other end is gone, is no gate or takes no answers: the process is then of no use.
bool answer_dial(int requests, int gate_directory);

}  // namespace cay::gate
