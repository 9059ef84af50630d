#include "keeper/file_layer_place.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "keeper/file_layer_check.h"

namespace cay::keeper {

UniqueFd LayerPlace::open(const std::string& path, int flags) const {
  const open_how how{.flags = static_cast<std::uint64_t>(flags | O_CLOEXEC),
                     .mode = 0,
                     .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV};
  const char* const from = path.empty() ? "." : path.c_str();
  for (int tries = 0;; ++tries) {
    UniqueFd got(static_cast<int>(::syscall(SYS_openat2, root_, from, &how, sizeof how)));
    // EAGAIN: something was renamed while a ".." of a link was resolved.
    if (got || errno != EAGAIN || tries == 16) return got;
  }
}

Result<void> LayerPlace::make_parents(const std::string& entry, const std::string& path) const {
  for (std::size_t slash = path.find('/');; slash = path.find('/', slash + 1)) {
    const std::string part = path.substr(0, slash);
    if (const UniqueFd there = open(part, O_PATH | O_DIRECTORY); !there) {
      if (errno != ENOENT) return layer_failure(entry, errno);
      const std::size_t last = part.rfind('/');
      const bool top = last == std::string::npos;
      const UniqueFd above = open(top ? std::string() : part.substr(0, last), O_PATH | O_DIRECTORY);
      if (!above) return layer_failure(entry, errno);
      const std::string name = top ? part : part.substr(last + 1);
      if (::mkdirat(above.get(), name.c_str(), 0755) != 0 ||
          ::fchownat(above.get(), name.c_str(), 0, 0, AT_SYMLINK_NOFOLLOW) != 0)
        return layer_failure(entry, errno);
    }
    if (slash == std::string::npos) return {};
  }
}

Result<bool> LayerPlace::find(const std::string& path, bool make) {
  const std::size_t slash = path.rfind('/');
  const std::string parent = slash == std::string::npos ? std::string() : path.substr(0, slash);
  name_ = slash == std::string::npos ? path : path.substr(slash + 1);
  // Layers come directory by directory. An entry that could change what lies at dir_path_ lies
  // elsewhere, and so ends its turn.
  if (dir_ && parent == dir_path_) return true;
  dir_ = open(parent, O_PATH | O_DIRECTORY);
  if (!dir_ && errno == ENOENT && make) {
    CAY_CHECK(make_parents(path, parent));
    dir_ = open(parent, O_PATH | O_DIRECTORY);
  }
  if (!dir_ && !make && (errno == ENOENT || errno == ENOTDIR)) return false;
  if (!dir_) return layer_failure(path, errno);
  dir_path_ = parent;
  return true;
}

}  // namespace cay::keeper
