// GuestMounts mounts what a create requests, at paths of the sandbox's root: file systems in
// memory, volumes, and the read-only and hidden paths.
//
// A read-only path is mounted on itself without the right to write. A hidden one gets a cover
// (guest_covers.h). Commands have no right to unmount them.
//
// Every directory above such a path is mounted on itself too. The kernel neither renames nor
// removes a mount point, so the next boot finds at the path what this one found.
//
// A container of profile nested could rename a mount point through a mount namespace of its own.
// The core and the launcher refuse rules there.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "launcher/guest_covers.h"

namespace cay::launcher {

struct InitPlan;

// A tmpfs on what `point` is. Returns its root. `mode` is octal, and `attributes` are MOUNT_ATTR_*.
Result<UniqueFd> put_tmpfs(int point, std::uint64_t bytes, const char* mode,
                           std::uint64_t attributes);

class GuestMounts {
 public:
  // All outlive this. `root` is the root of the sandbox, a directory.
  GuestMounts(const InitPlan& plan, int root, GuestCovers& covers)
      : plan_(plan), root_(root), covers_(covers) {}

  // `stored` are the mounts of InitPlan::mounts, in its order. Fails kInvalidArgument, with a
  // message that begins with a text of init_process.h.
  Result<void> mount(std::vector<UniqueFd> stored);

 private:
  enum class Kind { kPinned, kReadOnly, kHidden, kInMemory, kStored };
  struct Wanted {
    std::string path;
    Kind kind;
    std::size_t index = 0;  // in InitPlan::tmpfs or in the stored mounts
  };

  std::vector<Wanted> plan() const;
  Result<void> prepare(const Wanted& one);
  Result<void> put(const Wanted& one, std::vector<UniqueFd>& stored);
  Result<void> put_rule(const Wanted& one);
  // The directory at `path`, which is absolute. Makes what is missing.
  Result<UniqueFd> open_made(std::string_view path);
  // Opens what is at `path` with O_PATH. Fails where a link leads there.
  Result<UniqueFd> find(std::string_view path);

  const InitPlan& plan_;
  int root_;
  GuestCovers& covers_;
};

}  // namespace cay::launcher
