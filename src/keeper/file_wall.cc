#include "keeper/file_wall.h"

#include <fcntl.h>
#include <linux/landlock.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>

namespace cay::keeper {
namespace {

// Newer than the headers of Debian 12 (include/uapi/linux/landlock.h).
constexpr std::uint64_t kTruncate = 1ULL << 14, kIoctlOfDevices = 1ULL << 15;
constexpr std::uint64_t kListen = 1ULL << 0, kConnect = 1ULL << 1;
constexpr std::uint64_t kAbstractSockets = 1ULL << 0, kSignals = 1ULL << 1;

struct Attributes {
  std::uint64_t files = 0, network = 0, scoped = 0;
};

// The rights that file work (file_task.h) needs, of those in version 1.
constexpr std::uint64_t kFileWork = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR |
                                    LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_FILE |
                                    LANDLOCK_ACCESS_FS_REMOVE_DIR | LANDLOCK_ACCESS_FS_MAKE_REG |
                                    LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_MAKE_SYM;

int enforce(int rules, std::uint64_t handled, int layer_root_fd) {
  const bool writes_layer = layer_root_fd >= 0;
  const int root = writes_layer ? fcntl(layer_root_fd, F_DUPFD_CLOEXEC, 0)
                                : open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (root < 0) return -1;
  const std::uint64_t rights = kFileWork | LANDLOCK_ACCESS_FS_REFER | kTruncate |
                               (writes_layer ? LANDLOCK_ACCESS_FS_MAKE_FIFO : 0);
  const landlock_path_beneath_attr below{rights & handled, root};
  const bool done =
      syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &below, 0) == 0 &&
      syscall(SYS_landlock_restrict_self, rules, 0) == 0;
  const int why = errno;
  close(root);
  errno = why;
  return done ? 0 : -1;
}

}  // namespace

int build_file_wall(int layer_root_fd) {
  const long abi =
      syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION);
  if (abi < 1) return 0;
  Attributes all;
  all.files = (LANDLOCK_ACCESS_FS_MAKE_SYM << 1) - 1;
  if (abi >= 2) all.files |= LANDLOCK_ACCESS_FS_REFER;
  if (abi >= 3) all.files |= kTruncate;
  if (abi >= 4) all.network = kListen | kConnect;
  if (abi >= 5) all.files |= kIoctlOfDevices;
  if (abi >= 6) all.scoped = kAbstractSockets | kSignals;
  // An older kernel takes a shorter structure.
  const std::size_t size = abi >= 6   ? sizeof all
                           : abi >= 4 ? 2 * sizeof(std::uint64_t)
                                      : sizeof(std::uint64_t);
  const int rules = static_cast<int>(syscall(SYS_landlock_create_ruleset, &all, size, 0));
  if (rules < 0) return -1;
  const int built = enforce(rules, all.files, layer_root_fd);
  const int why = errno;
  close(rules);
  errno = why;
  return built;
}

}  // namespace cay::keeper
