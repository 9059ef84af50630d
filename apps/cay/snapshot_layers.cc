#include "snapshot_layers.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "os/file.h"

namespace cay::app {
namespace {

constexpr int kDeepest = 200;
constexpr std::size_t kMostNames =
    65536;  // XATTR_LIST_MAX, and XATTR_SIZE_MAX (listxattr(2), setxattr(2))

Error failed(const char* what, const std::string& path) {
  return Error::from_errno(errno, std::string(what) + " " + path);
}

Result<void> copy_attributes(int from, int to, const std::string& path) {
  if (::flistxattr(from, nullptr, 0) == 0) return {};  // as nearly all have none
  std::string names(kMostNames, '\0'), value(kMostNames, '\0');
  const ssize_t size = ::flistxattr(from, names.data(), names.size());
  if (size < 0) {
    if (errno == ENOTSUP) return {};
    return failed("read the attributes of", path);
  }
  for (std::size_t at = 0; at < static_cast<std::size_t>(size); at = names.find('\0', at) + 1) {
    const char* name = names.data() + at;
    const ssize_t got = ::fgetxattr(from, name, value.data(), value.size());
    if (got < 0 || ::fsetxattr(to, name, value.data(), static_cast<std::size_t>(got), 0) != 0)
      return failed("keep the attributes of", path);
  }
  return {};
}

Result<void> link_entries(int from, int to, const std::string& path, int depth);

Result<void> link_directory(int from, int to, const std::string& name, const std::string& path,
                            int depth) {
  CAY_TRY(const UniqueFd source, os::open_dir(from, name));
  struct stat info{};
  if (::fstat(source.get(), &info) != 0) return failed("look at", path);
  if (::mkdirat(to, name.c_str(), 0700) != 0) return failed("make", path);
  CAY_TRY(const UniqueFd target, os::open_dir(to, name));
  CAY_CHECK(link_entries(source.get(), target.get(), path, depth + 1));
  if (::fchown(target.get(), info.st_uid, info.st_gid) != 0 ||
      ::fchmod(target.get(), info.st_mode & 07777) != 0)
    return failed("own", path);
  CAY_CHECK(copy_attributes(source.get(), target.get(), path));
  const timespec times[] = {info.st_atim, info.st_mtim};
  if (::futimens(target.get(), times) != 0) return failed("keep the times of", path);
  return {};
}

Result<void> link_entries(int from, int to, const std::string& path, int depth) {
  if (depth > kDeepest) return Error::from_errno(ELOOP, "link " + path);
  CAY_TRY(const auto names, os::list_dir(from));
  for (const std::string& name : names) {
    const std::string below = path + "/" + name;
    struct stat info{};
    if (::fstatat(from, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0)
      return failed("look at", below);
    if (S_ISDIR(info.st_mode)) {
      CAY_CHECK(link_directory(from, to, name, below, depth));
    } else if (::linkat(from, name.c_str(), to, name.c_str(), 0) != 0) {
      if (errno != EXDEV) return failed("link", below);
      return Error{Code::kUnsupported, "other_file_system",
                   "snapshots can only be taken from a directory on the same file system: restore "
                   "there, or make the backup with them",
                   0};
    }
  }
  return {};
}

}  // namespace

std::vector<std::string> stack_in(int data, const std::string& layer) {
  std::vector<std::string> ids{layer};
  const auto below = os::read_file(data, "layers/" + layer + "/layers");
  for (std::size_t at = 0; below && at < below->size();) {
    const std::size_t end = std::min(below->find('\n', at), below->size());
    if (end > at) ids.push_back(below->substr(at, end - at));
    at = end + 1;
  }
  return ids;
}

std::set<std::string> layers_of(int data, const std::vector<store::StoredSandbox>& sandboxes) {
  std::set<std::string> ids;
  for (const auto& sandbox : sandboxes) {
    const auto stack = stack_in(data, sandbox.layer);
    ids.insert(stack.begin(), stack.end());
  }
  return ids;
}

Result<void> link_layer(int from, int to, const std::string& id) {
  struct stat info{};
  if (::fstatat(from, id.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) {
    if (errno == ENOENT) return {};
    return failed("look at", "layers/" + id);
  }
  return link_directory(from, to, id, "layers/" + id, 0);
}

}  // namespace cay::app
