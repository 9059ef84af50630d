#include "launcher/gate_directory.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "os/file.h"

namespace cay::launcher {
namespace {

constexpr mode_t kMode = 02750;  // what is made in it is the daemon's group's
constexpr mode_t kRulesMode =
    0750;  // who may enter may read: no bit that a unit's RestrictSUIDSGID= would refuse

}  // namespace

Result<UniqueFd> open_gate_directory(int data, uid_t uid, gid_t daemon_gid) {
  auto there = os::open_dir(data, "gate");
  struct stat info{};
  if (there && ::geteuid() == 0 && ::fstat(there->get(), &info) == 0 && info.st_uid != uid &&
      info.st_uid != 0) {
    // Only the former gate's user could open these two. Names of other users are neither followed
    // nor given away, nor are root's: the owner of DATA may have moved root's own files there.
    for (const char* name : {"lock", "gate.sock"}) {
      if (::unlinkat(there->get(), name, 0) != 0 && errno != ENOENT)
        return Error::from_errno(errno, "give DATA/gate to another user");
    }
    if (::fchown(there->get(), uid, daemon_gid) != 0)
      return Error::from_errno(errno, "give DATA/gate to another user");
  }
  return os::ensure_dir(data, "gate", uid, daemon_gid, kMode);
}

Result<UniqueFd> open_rules_directory(int data, gid_t gate_gid) {
  struct stat owner{};
  if (::fstat(data, &owner) != 0) return Error::from_errno(errno, "look at the data directory");
  auto there = os::open_dir(data, "rules");
  struct stat info{};
  const bool other = there && ::fstat(there->get(), &info) == 0 && info.st_gid != gate_gid;
  if (other && ::geteuid() == 0 && ::fchown(there->get(), owner.st_uid, gate_gid) != 0)
    return Error::from_errno(errno, "give DATA/rules to another group");
  return os::ensure_dir(data, "rules", owner.st_uid, gate_gid, kRulesMode);
}

}  // namespace cay::launcher
