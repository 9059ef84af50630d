#include "keeper/file_details.h"

#include <fcntl.h>
#include <sys/xattr.h>

#include <algorithm>
#include <cerrno>
#include <string_view>

#include "keeper/file_error.h"
#include "keeper/file_paths.h"

namespace cay::keeper {
namespace {

constexpr std::size_t kMostXattrBytes = 128 * 1024;  // of one file, names and values

}  // namespace

std::string proc_path(int fd) { return "/proc/self/fd/" + std::to_string(fd); }

Result<std::vector<wire::XattrMsg>> xattrs_of(int fd, const std::string& shown) {
  std::vector<wire::XattrMsg> out;
  // By its name in /proc: an O_PATH descriptor has no attributes of its own.
  const std::string path = proc_path(fd);
  std::string names(kMostXattrBytes, '\0');
  const ssize_t listed = ::listxattr(path.c_str(), names.data(), names.size());
  if (listed < 0) {
    if (errno == EOPNOTSUPP || errno == EPERM || errno == EACCES) return out;
    if (errno != ERANGE && errno != E2BIG) return file_error(errno, shown);
  }
  const Error too_large{Code::kExhausted, "attributes_too_large",
                        shown + ": its extended attributes take more than 128 KiB", 0};
  if (listed < 0) return too_large;
  names.resize(static_cast<std::size_t>(listed));
  std::string value(kMostXattrBytes, '\0');
  std::size_t used = 0;
  for (std::string_view left = names; !left.empty();) {
    const std::string name(left.substr(0, left.find('\0')));
    left.remove_prefix(std::min(left.size(), name.size() + 1));
    const ssize_t got = ::getxattr(path.c_str(), name.c_str(), value.data(), value.size());
    if (got < 0) continue;  // removed meanwhile, or not for this user
    used += name.size() + static_cast<std::size_t>(got);
    if (used > kMostXattrBytes) return too_large;
    out.push_back({name, value.substr(0, static_cast<std::size_t>(got))});
  }
  return out;
}

Result<void> FileDetails::add(wire::FileInfoMsg& info, int dir, const char* name, bool follow) {
  if (with_names_) {
    info.owner = names_.user(info.uid);
    info.group = names_.group(info.gid);
  }
  if (!with_xattrs_) return {};
  CAY_TRY(const UniqueFd file, open_path(dir, name, O_PATH | (follow ? 0 : O_NOFOLLOW), info.path));
  CAY_TRY(info.xattrs, xattrs_of(file.get(), info.path));
  return {};
}

}  // namespace cay::keeper
