// Namespaces that exist before the processes that live in them.
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "os/process.h"

namespace cay::launcher {

// Open namespaces of one process. They last as long as these descriptors.
struct Namespaces {
  UniqueFd user, mounts, network, names, messages;  // names: UTS. messages: IPC

  // Opens those of the process whose directory in /proc is open. Needs trace access to it.
  static Result<Namespaces> open(int process);
  // Takes the first of `descriptors`, which are in the order of descriptors().
  static Namespaces adopt(std::vector<UniqueFd>& descriptors);
  // The kinds that this has, as CLONE_NEW*.
  static std::uint64_t kinds();
  std::vector<int> descriptors() const;
};

// Clones a child of the caller into `namespaces`, and into new ones of `fresh` (CLONE_NEWPID,
// CLONE_NEWCGROUP). The new ones belong to the user namespace that it joins. The child runs `body`,
// which never returns, and has what a fork of the caller has. The caller must own that user
// namespace, and be single-threaded.
Result<os::Cloned> clone_inside(const Namespaces& namespaces, std::uint64_t fresh,
                                const std::function<void()>& body);

}  // namespace cay::launcher
