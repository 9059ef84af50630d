// The process that makes a groundwork (groundwork.h). The launcher forks it as root. It becomes the
// keeper's host uid, so that this owns the user namespace, and ends when all is made.
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <string>

#include "launcher/guest_network.h"
#include "launcher/guest_trees.h"
#include "launcher/host.h"

namespace cay::launcher {

struct GroundworkPlan {
  TreePlan trees;
  const GuestNetwork* network = nullptr;  // null: lo alone
  uid_t uid = 0;
  int slot_fd = -1;     // held, never used: it holds the slot's lock
  int control_fd = -1;  // to the launcher
  pid_t worker = 0;     // the launcher's process that forks it, and with which it ends
};

// Its first message: the namespaces are made. The launcher then makes the id maps, and sends the
// mount of make_devices().
inline constexpr const char* kGroundBegun = "begun";

// Its second message, with the descriptors of Namespaces, Groundwork::trees and Groundwork::lent.
struct GroundReport {
  std::uint32_t trees = 0;  // how many descriptors
  std::string no_network;
  template <class V>
  void fields(V& v) {
    v(1, trees);
    v(2, no_network);
  }
};

// It ends with one of these codes. In the first two cases the report is in the socket.
enum GroundEnd : int { kGroundMade = 0, kGroundWithoutWayOut = 2, kGroundFailed = 3 };

[[noreturn]] void run_groundwork(const Host& host, const GroundworkPlan& plan);

}  // namespace cay::launcher
