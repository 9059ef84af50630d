// LocalSandbox: the parts of a real sandbox that a keeper needs, made by root with the host's own
// file tree: user, pid, mount and other namespaces with an init, and delegated cgroups. For tests
// of entering, of ends that the kernel reports, and of a hostile root inside.
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>

#include "base/unique_fd.h"
#include "keeper/keeper.h"

namespace cay::keeper::testing {

class LocalSandbox {
 public:
  // Returns whether this machine and user can make one. `why` has the reason if not.
  static bool possible(std::string& why);

  // `memory_bytes`: the limit of all commands together.
  explicit LocalSandbox(std::uint64_t memory_bytes);
  ~LocalSandbox();
  LocalSandbox(const LocalSandbox&) = delete;
  LocalSandbox& operator=(const LocalSandbox&) = delete;

  // In the process that becomes the keeper, as root: drops to the keeper's uid, makes init, and
  // fills the context. Does not return on failure.
  void enter(Context& context);
  uid_t keeper_uid() const { return kKeeperUid; }
  // Root inside, as the host numbers it. The next 65,535 are the other users.
  uid_t first_guest_uid() const { return kFirstGuestUid; }

 private:
  static constexpr uid_t kKeeperUid = 0x70001ffe;
  static constexpr uid_t kFirstGuestUid = 0x7fe00000;

  std::string name_;
  std::string unified_, memory_, pids_;  // cgroup directories of ours; empty where not used
  bool pure_v2_ = false;
};

}  // namespace cay::keeper::testing
