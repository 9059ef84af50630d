#include "os/file.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

namespace cay::os {
namespace {

constexpr int kMaxDepth = 200;

struct DirCloser {
  void operator()(DIR* dir) const { ::closedir(dir); }
};
using DirStream = std::unique_ptr<DIR, DirCloser>;

Error last_error(const char* what, const std::string& path) {
  return Error::from_errno(errno, std::string(what) + " " + path);
}

Result<void> write_all(int fd, std::string_view bytes, const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return last_error("write", path);
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
  return {};
}

}  // namespace

Result<std::string> read_file(int dir, const std::string& path, std::size_t limit) {
  UniqueFd fd(::openat(dir, path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!fd) return last_error("open", path);
  std::string out;
  char buffer[16 * 1024];
  while (out.size() < limit) {
    const ssize_t n = ::read(fd.get(), buffer, std::min(sizeof buffer, limit - out.size()));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return last_error("read", path);
    if (n == 0) break;
    out.append(buffer, static_cast<std::size_t>(n));
  }
  return out;
}

Result<void> write_file(int dir, const std::string& path, std::string_view text) {
  UniqueFd fd(::openat(dir, path.c_str(), O_WRONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!fd) return last_error("open", path);
  const ssize_t n = ::write(fd.get(), text.data(), text.size());
  if (n < 0) return last_error("write", path);
  if (static_cast<std::size_t>(n) != text.size()) {
    errno = EIO;
    return last_error("write", path);
  }
  return {};
}

Result<void> replace_file(int dir, const std::string& name, std::string_view bytes, mode_t mode) {
  const std::string temporary = name + ".new";
  if (::unlinkat(dir, temporary.c_str(), 0) != 0 && errno != ENOENT)
    return last_error("remove", temporary);
  UniqueFd fd(
      ::openat(dir, temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode));
  if (!fd) return last_error("create", temporary);
  CAY_CHECK(write_all(fd.get(), bytes, temporary));
  if (::renameat(dir, temporary.c_str(), dir, name.c_str()) != 0)
    return last_error("rename", temporary);
  return {};
}

Result<UniqueFd> make_file(int dir, const std::string& name, std::string_view text, mode_t mode) {
  constexpr int kNew = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW;
  UniqueFd fd(::openat(dir, name.c_str(), kNew, mode));
  if (!fd) return Error::from_errno(errno, "make " + name);
  if (text.empty()) return fd;
  if (::write(fd.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
    return Error::from_errno(errno, "make " + name);
  }
  return fd;
}

Result<UniqueFd> open_dir(int dir, const std::string& path) {
  UniqueFd fd(::openat(dir, path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
  if (!fd) return last_error("open", path);
  return fd;
}

Result<UniqueFd> ensure_dir(int dir, const std::string& name, uid_t uid, gid_t gid, mode_t mode) {
  const bool made = ::mkdirat(dir, name.c_str(), 0700) == 0;
  if (!made && errno != EEXIST) return last_error("make directory", name);
  CAY_TRY(UniqueFd fd, open_dir(dir, name));
  if (made && ::fchown(fd.get(), uid, gid) != 0) return last_error("chown", name);
  struct stat info{};
  if (::fstat(fd.get(), &info) != 0) return last_error("stat", name);
  if (info.st_uid != uid) {
    return Error{Code::kPermissionDenied, "unsafe_directory",
                 name + " belongs to uid " + std::to_string(info.st_uid) + ", not to uid " +
                     std::to_string(uid) + ": move it away and start again",
                 0};
  }
  if ((info.st_mode & 07777) != mode && ::fchmod(fd.get(), mode) != 0)
    return last_error("chmod", name);
  return fd;
}

Result<std::vector<std::string>> list_dir(int dir) {
  UniqueFd again(::openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!again) return last_error("open", ".");
  DirStream stream(::fdopendir(again.get()));
  if (!stream) return last_error("read directory", ".");
  again.release();  // closedir closes it
  std::vector<std::string> names;
  errno = 0;
  while (const dirent* entry = ::readdir(stream.get())) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
    errno = 0;
  }
  if (errno != 0) return last_error("read directory", ".");
  return names;
}

namespace {

// Each level of the way down holds a descriptor and a frame of the stack, and a guest can nest
// without end. A directory that lies too deep is moved up into the root of the tree that is
// removed, and its turn comes later.
struct Removal {
  int top;
  unsigned moved = 0;

  Result<void> move_up(int dir, const std::string& name) {
    for (;;) {
      const std::string here = ".moved-up-" + std::to_string(moved++);
      if (::renameat2(dir, name.c_str(), top, here.c_str(), RENAME_NOREPLACE) == 0) return {};
      if (errno == ENOENT) return {};  // another removal of the same tree was quicker
      if (errno != EEXIST) return last_error("move up", name);
    }
  }

  Result<void> remove(int dir, const std::string& name, int depth) {
    if (::unlinkat(dir, name.c_str(), 0) == 0 || errno == ENOENT) return {};
    if (errno != EISDIR && errno != EPERM) return last_error("remove", name);
    if (::unlinkat(dir, name.c_str(), AT_REMOVEDIR) == 0 || errno == ENOENT) return {};
    if (errno != ENOTEMPTY && errno != EEXIST) return last_error("remove", name);
    if (depth >= kMaxDepth) return move_up(dir, name);
    auto inner = open_dir(dir, name);
    if (!inner && inner.error().os_errno == ENOENT) return {};
    if (!inner) return std::move(inner).error();
    CAY_TRY(const std::vector<std::string> names, list_dir(inner->get()));
    for (const std::string& child : names) {
      CAY_CHECK(remove(inner->get(), child, depth + 1));
    }
    if (::unlinkat(dir, name.c_str(), AT_REMOVEDIR) != 0 && errno != ENOENT)
      return last_error("remove", name);
    return {};
  }
};

}  // namespace

Result<void> remove_tree(int dir, const std::string& name) {
  if (::unlinkat(dir, name.c_str(), 0) == 0 || errno == ENOENT) return {};
  if (errno != EISDIR && errno != EPERM) return last_error("remove", name);
  for (;;) {
    if (::unlinkat(dir, name.c_str(), AT_REMOVEDIR) == 0 || errno == ENOENT) return {};
    if (errno != ENOTEMPTY && errno != EEXIST) return last_error("remove", name);
    auto top = open_dir(dir, name);
    if (!top && top.error().os_errno == ENOENT) return {};
    if (!top) return std::move(top).error();
    CAY_TRY(const std::vector<std::string> names, list_dir(top->get()));
    Removal removal{top->get()};
    for (const std::string& child : names) {
      CAY_CHECK(removal.remove(top->get(), child, 1));
    }
  }
}

}  // namespace cay::os
