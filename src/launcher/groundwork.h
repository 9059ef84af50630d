// Groundwork: the part of a sandbox that depends neither on its id nor on its disk. It has user,
// mount, network, UTS and IPC namespaces with their id maps. The loopback and the way out are set
// up in them, and the trees of the file system are made (guest_trees.h).
//
// It is made ahead by a process that ends (groundwork_process.h). Descriptors alone hold it, and
// until it is opened they lie unread in a socket. So no other child of the launcher inherits them.
// It is gone with the launcher's worker, and leaves nothing on the host. A sandbox uses it once.
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "launcher/guest_network.h"
#include "launcher/host.h"
#include "launcher/namespaces.h"
#include "launcher/slots.h"

namespace cay::launcher {

// A groundwork depends on these settings. Sandboxes that share them can use each other's.
struct GroundKind {
  std::uint64_t memory_bytes = 0;
  std::uint32_t cpu_millicores = 0;
  std::optional<std::vector<std::string>> networks;  // CreateSandbox::networks. None: no way out

  bool operator==(const GroundKind&) const = default;
};

struct Groundwork {
  GroundKind kind;
  Slot slot;
  bool lacks_way_out = false;  // the host cannot give the one of its kind
  UniqueFd sealed;             // the socket

  // After open(), which is called right before the fork of the keeper.
  Namespaces namespaces;
  std::vector<UniqueFd> trees;  // GuestTrees::descriptors()
  std::vector<UniqueFd> lent;   // the sockets that the gate answers on
  std::string no_network;       // why it has no way out, if it lacks one

  Result<void> open();
  std::vector<int> descriptors() const;
};

// Makes the id maps of the process whose directory in /proc is open: the ids from 0 on become the
// range that begins with `first_uid`.
Result<void> write_id_maps(int process, uid_t first_uid);

class GroundworkMaker {
 public:
  // Forks its process. `network` is the plan for kind.networks, or null.
  static Result<GroundworkMaker> begin(const Host& host, const GroundKind& kind,
                                       const GuestNetwork* network, Slot slot);
  GroundworkMaker(GroundworkMaker&&) = default;
  GroundworkMaker& operator=(GroundworkMaker&&) = delete;
  ~GroundworkMaker();  // ends the process

  // Readable: call advance(), and then it may be another one.
  int fd() const { return begun_ ? pidfd_.get() : ground_.sealed.get(); }
  // Returns the groundwork once it is made. kNotReady: not yet.
  Result<Groundwork> advance();

 private:
  GroundworkMaker() = default;
  Result<void> map_ids();

  Groundwork ground_;
  UniqueFd pidfd_;
  pid_t pid_ = 0;
  bool begun_ = false;
};

}  // namespace cay::launcher
