#include "launcher/default_snapshot_tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/openat2.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <utility>
#include <vector>

#include "os/file.h"

namespace cay::launcher {
namespace {

constexpr std::uint64_t kProgressEvery = 20'000;
constexpr mode_t kSetIds = S_ISUID | S_ISGID;

struct DirCloser {
  void operator()(DIR* dir) const { ::closedir(dir); }
};

Error failed(std::string_view what, std::string_view path) {
  return Error::from_errno(errno, std::string(what) + " " + std::string(path));
}

// Opens below `root` as if it were "/": links on the way stay inside it.
UniqueFd open_in(int root, const std::string& path, int flags) {
  open_how how{};
  how.flags = static_cast<std::uint64_t>(flags) | O_CLOEXEC;
  how.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS;
  return UniqueFd(static_cast<int>(
      ::syscall(SYS_openat2, root, path.empty() ? "." : path.c_str(), &how, sizeof how)));
}

std::string grouped(std::uint64_t number) {
  std::string digits = std::to_string(number);
  for (auto at = static_cast<std::ptrdiff_t>(digits.size()) - 3; at > 0; at -= 3)
    digits.insert(static_cast<std::size_t>(at), ",");
  return digits;
}

// An identity that differs even between two mounts of one file system.
std::uint64_t mount_id_of(int dir) {
  struct statx info{};
  if (::statx(dir, "", AT_EMPTY_PATH, STATX_MNT_ID, &info) != 0) return 0;
  return info.stx_mnt_id;
}

bool has_capabilities(int from, const char* name) {
  UniqueFd file(::openat(from, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!file) return true;  // in doubt it is not linked
  return ::fgetxattr(file.get(), "security.capability", nullptr, 0) >= 0;
}

// Reflink where the file system can, else a copy inside the kernel.
bool copy_bytes(int from, int to, off_t size) {
  if (::ioctl(to, FICLONE, from) == 0) return true;
  while (size > 0) {
    ssize_t n = ::copy_file_range(from, nullptr, to, nullptr, static_cast<std::size_t>(size), 0);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && (errno == EXDEV || errno == EINVAL || errno == EOPNOTSUPP)) break;
    if (n < 0) return false;
    if (n == 0) return true;  // it became shorter meanwhile
    size -= n;
  }
  std::vector<char> buffer(256 * 1024);
  while (size > 0) {
    ssize_t n = ::read(from, buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return n == 0;
    for (ssize_t done = 0; done < n;) {
      ssize_t written = ::write(to, buffer.data() + done, static_cast<std::size_t>(n - done));
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) return false;
      done += written;
    }
    size -= n;
  }
  return true;
}

bool readable_by_all(const struct stat& info) { return (info.st_mode & S_IROTH) != 0; }

// Whether every user of the host may enter each directory on the way to `path`.
bool reachable_by_all(int root, const std::string& path) {
  for (std::size_t slash = path.find('/'); slash != std::string::npos;
       slash = path.find('/', slash + 1)) {
    UniqueFd dir = open_in(root, path.substr(0, slash), O_PATH | O_DIRECTORY);
    struct stat info{};
    if (!dir || ::fstat(dir.get(), &info) != 0 || (info.st_mode & S_IXOTH) == 0) return false;
  }
  return true;
}

Result<UniqueFd> parent_of(int root, const std::string& path, std::string& name) {
  const std::size_t slash = path.find_last_of('/');
  name = slash == std::string::npos ? path : path.substr(slash + 1);
  UniqueFd dir =
      open_in(root, slash == std::string::npos ? "" : path.substr(0, slash), O_PATH | O_DIRECTORY);
  if (!dir) return failed("open the directory of", path);
  return dir;
}

}  // namespace

Result<void> TreeWriter::link_tree(const std::string& path, const Skip& skip) {
  return tree(path, TreeCopier::How::kLink, skip);
}
Result<void> TreeWriter::copy_tree(const std::string& path, const Skip& skip) {
  return tree(path, TreeCopier::How::kCopy, skip);
}

Result<void> TreeWriter::tree(const std::string& path, TreeCopier::How how, const Skip& skip) {
  std::string name;
  auto from_parent = parent_of(host_, path, name);
  if (!from_parent || !reachable_by_all(host_, path)) return {};
  const UniqueFd from = *std::move(from_parent);
  CAY_TRY(UniqueFd to, parent_of(root_, path, name));
  std::size_t slash = path.find_last_of('/');
  TreeCopier::Walk walk{how, skip, slash == std::string::npos ? "" : path.substr(0, slash),
                        mount_id_of(from.get())};
  return copier_.entry(walk, from.get(), to.get(), name.c_str());
}

Result<void> TreeCopier::fill(Walk& walk, int from, int to) {
  int reading = ::fcntl(from, F_DUPFD_CLOEXEC, 3);
  std::unique_ptr<DIR, DirCloser> stream(::fdopendir(reading));
  if (!stream) return failed("read directory", walk.path);
  for (;;) {
    errno = 0;
    const dirent* found = ::readdir(stream.get());
    if (found == nullptr) break;
    std::string_view name = found->d_name;
    if (name == "." || name == "..") continue;
    CAY_CHECK(entry(walk, from, to, found->d_name));
  }
  if (errno != 0) return failed("read directory", walk.path);
  return {};
}

Result<void> TreeCopier::entry(Walk& walk, int from, int to, const char* name) {
  const std::size_t length = walk.path.size();
  if (!walk.path.empty()) walk.path += '/';
  walk.path += name;
  Result<void> result;
  struct stat info{};
  if (::fstatat(from, name, &info, AT_SYMLINK_NOFOLLOW) != 0) {
    if (errno != ENOENT) result = failed("look at", walk.path);  // gone meanwhile: no entry
  } else if (!walk.skip || !walk.skip(walk.path)) {
    if (S_ISDIR(info.st_mode)) result = subdirectory(walk, from, to, name);
    if (S_ISREG(info.st_mode)) result = regular(walk, from, to, name, info);
    if (S_ISLNK(info.st_mode)) {
      std::string target(static_cast<std::size_t>(info.st_size) + 1, '\0');
      ssize_t n = ::readlinkat(from, name, target.data(), target.size());
      target.resize(n < 0 ? 0 : static_cast<std::size_t>(n));
      if (n < 0 || (::symlinkat(target.c_str(), to, name) != 0 && errno != EEXIST))
        result = failed("link", walk.path);
      count(walk.path);
    }
  }
  walk.path.resize(length);
  return result;
}

Result<void> TreeCopier::subdirectory(Walk& walk, int from, int to, const char* name) {
  UniqueFd inside(::openat(from, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!inside) return errno == ENOENT ? Result<void>() : failed("open", walk.path);
  struct stat info{};
  if (::fstat(inside.get(), &info) != 0) return failed("look at", walk.path);
  if ((info.st_mode & (S_IROTH | S_IXOTH)) != (S_IROTH | S_IXOTH)) return {};
  const bool other_mount = mount_id_of(inside.get()) != walk.mount_id;
  if (::mkdirat(to, name, 0700) != 0 && errno != EEXIST) return failed("make directory", walk.path);
  UniqueFd made(::openat(to, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!made) return failed("open the new", walk.path);
  if (other_mount) {
    progress_("leaving out /" + walk.path + ": another file system is mounted there");
  } else {
    CAY_CHECK(fill(walk, inside.get(), made.get()));
  }
  const timespec times[2] = {info.st_mtim, info.st_mtim};
  if (::fchown(made.get(), info.st_uid, info.st_gid) != 0 ||
      ::fchmod(made.get(), info.st_mode & 07777) != 0 || ::futimens(made.get(), times) != 0) {
    return failed("set the owner of", walk.path);
  }
  count(walk.path);
  return {};
}

Result<void> TreeCopier::regular(Walk& walk, int from, int to, const char* name,
                                 const struct stat& info) {
  if (!readable_by_all(info)) return {};
  const bool privileged =
      (info.st_mode & kSetIds) != 0 || ((info.st_mode & 0111) != 0 && has_capabilities(from, name));
  if (walk.how == How::kLink && can_link_ && !privileged) {
    if (::linkat(from, name, to, name, 0) == 0 || errno == EEXIST || errno == ENOENT) {
      count(walk.path);
      return {};
    }
    if (errno == EXDEV) {
      can_link_ = false;
      progress_("/usr is on another file system than the data directory: copying");
    } else if (errno != EMLINK && errno != EPERM && errno != EOPNOTSUPP) {
      return failed("link", walk.path);
    }
  }
  auto copied = copy_file(from, to, name, info, info.st_mode & 01777);
  if (!copied) return std::move(copied).error().while_doing("copy /" + walk.path);
  count(walk.path);
  return {};
}

Result<void> TreeCopier::copy_file(int from, int to, const char* name, const struct stat& info,
                                   mode_t mode) {
  UniqueFd source(::openat(from, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!source) return errno == ENOENT ? Result<void>() : failed("open", name);
  struct stat now{};  // of what was opened: it may be another file than the one looked at
  if (::fstat(source.get(), &now) != 0) return failed("look at", name);
  if (!S_ISREG(now.st_mode) || !readable_by_all(now)) return {};
  UniqueFd made(::openat(to, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!made) return failed("create", name);
  if (!copy_bytes(source.get(), made.get(), now.st_size)) return failed("write", name);
  const timespec times[2] = {info.st_mtim, info.st_mtim};
  if (::fchown(made.get(), now.st_uid, now.st_gid) != 0 || ::fchmod(made.get(), mode) != 0 ||
      ::futimens(made.get(), times) != 0) {
    return failed("set the owner of", name);
  }
  copied_bytes_ += static_cast<std::uint64_t>(now.st_size);
  return {};
}

Result<void> TreeWriter::make_dir(const std::string& path, mode_t mode, uid_t uid, gid_t gid) {
  std::string name;
  CAY_TRY(UniqueFd parent, parent_of(root_, path, name));
  if (::mkdirat(parent.get(), name.c_str(), 0700) != 0 && errno != EEXIST)
    return failed("make directory", path);
  UniqueFd made(
      ::openat(parent.get(), name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!made || ::fchown(made.get(), uid, gid) != 0 || ::fchmod(made.get(), mode) != 0)
    return failed("make directory", path);
  return {};
}

Result<void> TreeWriter::make_file(const std::string& path, std::string_view text, mode_t mode,
                                   uid_t uid, gid_t gid) {
  std::string name;
  CAY_TRY(UniqueFd parent, parent_of(root_, path, name));
  // Removed first: the entry may be a link to the host's own file, which must not be written to.
  if (::unlinkat(parent.get(), name.c_str(), 0) != 0 && errno != ENOENT)
    return failed("replace", path);
  UniqueFd made(::openat(parent.get(), name.c_str(),
                         O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!made) return failed("create", path);
  written_bytes_ += text.size();
  while (!text.empty()) {
    ssize_t n = ::write(made.get(), text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return failed("write", path);
    text.remove_prefix(static_cast<std::size_t>(n));
  }
  if (::fchown(made.get(), uid, gid) != 0 || ::fchmod(made.get(), mode) != 0)
    return failed("set the owner of", path);
  return {};
}

Result<void> TreeWriter::make_link(const std::string& path, const std::string& target) {
  std::string name;
  CAY_TRY(UniqueFd parent, parent_of(root_, path, name));
  if (::unlinkat(parent.get(), name.c_str(), 0) != 0 && errno != ENOENT)
    return failed("replace", path);
  if (::symlinkat(target.c_str(), parent.get(), name.c_str()) != 0) return failed("link", path);
  return {};
}

Result<bool> TreeWriter::copy_with_mode(const std::string& path, mode_t mode) {
  std::string name;
  auto from = parent_of(host_, path, name);
  if (!from || !reachable_by_all(host_, path)) return false;
  struct stat info{};
  if (::fstatat(from->get(), name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) return false;
  if (!S_ISREG(info.st_mode) || !readable_by_all(info)) return false;
  CAY_TRY(UniqueFd to, parent_of(root_, path, name));
  if (::unlinkat(to.get(), name.c_str(), 0) != 0 && errno != ENOENT) return failed("replace", path);
  CAY_CHECK(copier_.copy_file(from->get(), to.get(), name.c_str(), info, mode));
  return true;
}

std::string TreeWriter::host_text(const std::string& path) {
  if (!reachable_by_all(host_, path)) return "";
  UniqueFd file = open_in(host_, path, O_RDONLY | O_NONBLOCK);
  struct stat info{};
  if (!file || ::fstat(file.get(), &info) != 0 || !S_ISREG(info.st_mode) || !readable_by_all(info))
    return "";
  std::string text;
  char buffer[64 * 1024];
  for (ssize_t n; (n = ::read(file.get(), buffer, sizeof buffer)) > 0;)
    text.append(buffer, static_cast<std::size_t>(n));
  return text;
}

std::vector<std::string> TreeWriter::host_names(const std::string& path) {
  if (!reachable_by_all(host_, path)) return {};
  const UniqueFd dir = open_in(host_, path, O_RDONLY | O_DIRECTORY);
  struct stat info{};
  if (!dir || ::fstat(dir.get(), &info) != 0 || (info.st_mode & S_IROTH) == 0) return {};
  auto names = os::list_dir(dir.get());
  if (!names) return {};
  std::sort(names->begin(), names->end());
  return *std::move(names);
}

bool TreeWriter::host_has(const std::string& path) {
  std::string name;
  auto dir = parent_of(host_, path, name);
  return dir && ::faccessat(dir->get(), name.c_str(), F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

std::optional<struct stat> TreeWriter::host_entry(const std::string& path) {
  std::string name;
  auto dir = parent_of(host_, path, name);
  struct stat info{};
  if (!dir || ::fstatat(dir->get(), name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0)
    return std::nullopt;
  return info;
}

std::string TreeWriter::host_link(const std::string& path) {
  std::string name;
  auto dir = parent_of(host_, path, name);
  if (!dir) return "";
  std::string target(4096, '\0');
  const ssize_t n = ::readlinkat(dir->get(), name.c_str(), target.data(), target.size());
  target.resize(n < 0 ? 0 : static_cast<std::size_t>(n));
  return target;
}

bool TreeWriter::has(const std::string& path) {
  const std::size_t slash = path.find_last_of('/');
  const std::size_t begin = slash == std::string::npos ? 0 : slash + 1;
  if (!asked_ || path.compare(0, begin, asked_directory_) != 0) {
    std::string name;
    auto dir = parent_of(root_, path, name);
    if (!dir) return false;
    asked_ = *std::move(dir);
    asked_directory_ = path.substr(0, begin);
  }
  return ::faccessat(asked_.get(), path.c_str() + begin, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

std::string TreeWriter::text(const std::string& path) {
  std::string name;
  const auto dir = parent_of(root_, path, name);
  return dir ? os::read_file(dir->get(), name).value_or("") : "";
}

void TreeCopier::count(std::string_view what) {
  if (++entries_ % kProgressEvery != 0) return;
  const std::string_view top = what.substr(0, what.find('/'));
  progress_(std::string(can_link_ ? "linking" : "copying") + " /" + std::string(top) + ": " +
            grouped(entries_) + " files");
}

}  // namespace cay::launcher
