#include "keeper/file_task.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <climits>
#include <cstdio>  // renameat2, too

#include "base/saturate.h"
#include "keeper/file_details.h"
#include "keeper/file_error.h"
#include "keeper/file_paths.h"
#include "keeper/helper_session.h"

namespace cay::keeper {
namespace {

constexpr long kProcMagic = 0x9fa0;
constexpr std::uint32_t kXfsMagic = 0x58465342;
constexpr std::size_t kLinkLimit = 4096;
constexpr int kMostLinks = 40;  // as the kernel
constexpr int kMostTries = 8;
constexpr std::string_view kTemporaryPrefix = ".cay-";
constexpr std::size_t kTemporaryBytes = 12;  // random ones
constexpr std::string_view kHex = "0123456789abcdef";

Result<void> perform(FileChannel& channel, const wire::FileOp& op, int layer_root_fd) {
  switch (static_cast<wire::FileVerb>(op.verb)) {
    case wire::FileVerb::kStat: return stat_file(channel, op);
    case wire::FileVerb::kRead: return read_file(channel, op);
    case wire::FileVerb::kWrite: return write_file(channel, op);
    case wire::FileVerb::kList: return list_directory(channel, op);
    case wire::FileVerb::kMkdir: return make_directory(channel, op);
    case wire::FileVerb::kRemove: return remove_path(channel, op);
    case wire::FileVerb::kRename: return rename_path(channel, op);
    case wire::FileVerb::kGlob: return glob_files(channel, op);
    case wire::FileVerb::kGrep: return grep_files(channel, op);
    case wire::FileVerb::kReadTree: return read_tree(channel, op);
    case wire::FileVerb::kWriteTree: return write_tree(channel, op);
    case wire::FileVerb::kWriteLayer: return write_layer(channel, layer_root_fd);
    case wire::FileVerb::kReadLayer: return read_layer(channel, op);
    case wire::FileVerb::kChmod: return change_mode(channel, op);
    case wire::FileVerb::kChown: return change_owner(channel, op);
    case wire::FileVerb::kCopy: return copy_path(channel, op);
    case wire::FileVerb::kMove: return move_path(channel, op);
    case wire::FileVerb::kReplace: return replace_in_files(channel, op);
    case wire::FileVerb::kWatch: return watch_directory(channel, op);
  }
  return Error{Code::kUnsupported, "unknown_request",
               "this keeper does not know that file operation", 0};
}

// Returns the kernel's name of an open file.
std::string path_of(int fd) {
  char link[64];
  char target[kLinkLimit];
  std::snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  const ssize_t length = ::readlink(link, target, sizeof target);
  return length > 0 ? std::string(target, static_cast<std::size_t>(length)) : std::string();
}

bool is_own_proc_entry(int fd) {
  struct statfs fs{};
  if (::fstatfs(fd, &fs) != 0) return true;
  if (fs.f_type != kProcMagic) return false;
  // The pid inside is ours in the sandbox's /proc. In a foreign /proc a number means nothing, so
  // any entry of a process with our number is refused.
  const std::string own = "/" + std::to_string(::getpid()) + "/";
  const std::string path = path_of(fd);
  return path.empty() || (path + "/").find(own) != std::string::npos;
}

// The helper's own image: /proc/self/exe leads to it, though it lies nowhere in the sandbox.
bool is_own_program(const struct stat& info) {
  struct stat own{};
  return ::stat("/proc/self/exe", &own) == 0 && own.st_dev == info.st_dev &&
         own.st_ino == info.st_ino;
}

UniqueFd open_by(int dir, const char* path, int flags, int resolve) {
  const open_how how{.flags = static_cast<std::uint64_t>(flags | O_CLOEXEC),
                     .mode = 0,
                     .resolve = static_cast<std::uint64_t>(resolve)};
  return UniqueFd(static_cast<int>(::syscall(SYS_openat2, dir, path, &how, sizeof how)));
}

// Whether the directory's file system is known to give an unnamed file (O_TMPFILE) a name. One of a
// program inside (FUSE) may fail only at the end, when the content is written.
bool links_unnamed_files(int dir) {
  struct statfs fs{};
  if (::fstatfs(dir, &fs) != 0) return false;
  switch (static_cast<std::uint32_t>(fs.f_type)) {
    case BTRFS_SUPER_MAGIC:
    case EXT4_SUPER_MAGIC:
    case OVERLAYFS_SUPER_MAGIC:
    case TMPFS_MAGIC:
    case kXfsMagic: return true;
    default: return false;
  }
}

// The name in /proc is needed for the link. Root of the sandbox may have put something else there.
bool is_named_in_proc(int fd) {
  struct stat file{};
  struct stat named{};
  return ::fstat(fd, &file) == 0 && ::stat(proc_path(fd).c_str(), &named) == 0 &&
         file.st_dev == named.st_dev && file.st_ino == named.st_ino;
}

}  // namespace

Result<UniqueFd> open_path(int dir, const char* path, int flags, const std::string& shown) {
  UniqueFd file = open_by(dir, path, flags, RESOLVE_NO_MAGICLINKS);
  if (!file && errno == ELOOP) {
    // ELOOP is for such a link, for too many links and for O_NOFOLLOW. Only the first are followed
    // without the flag.
    const bool unfollowed = (flags & O_NOFOLLOW) != 0 && (flags & O_PATH) == 0;
    const bool magic =
        !unfollowed && (open_by(dir, path, O_PATH | (flags & O_NOFOLLOW), 0) || errno != ELOOP);
    if (!magic) return file_error(ELOOP, shown);
    return Error{Code::kPermissionDenied, "permission_denied",
                 shown +
                     ": permission denied: a link of /proc leads there by a process's descriptors, "
                     "not by a path; name the file by its own path",
                 ELOOP};
  }
  if (!file) return file_error(errno, shown);
  if (is_own_proc_entry(file.get())) {
    return Error{Code::kPermissionDenied, "permission_denied",
                 shown +
                     ": permission denied: in /proc that is the file operation itself, no process "
                     "of the sandbox's",
                 EACCES};
  }
  return file;
}

Result<void> stat_path(int dir, const char* path, bool follow, struct stat& info,
                       const std::string& shown) {
  CAY_TRY(const UniqueFd found, open_path(dir, path, O_PATH | (follow ? 0 : O_NOFOLLOW), shown));
  if (::fstat(found.get(), &info) != 0) return file_error(errno, shown);
  return {};
}

bool may_be_followed(const wire::FileOp& op) {
  const auto relative = [](const std::string& path) {
    return !path.empty() && path.front() != '/';
  };
  if (relative(op.path) || relative(op.to)) return false;  // it has a working directory
  switch (static_cast<wire::FileVerb>(op.verb)) {
    case wire::FileVerb::kReadTree:
    case wire::FileVerb::kWriteTree:
    case wire::FileVerb::kWriteLayer:
    case wire::FileVerb::kReadLayer:
    case wire::FileVerb::kWatch: return false;
    default: return true;
  }
}

int run_file_task(int fd, int layer_root_fd, void* data) {
  wire::FileOp op = *static_cast<const wire::FileOp*>(data);
  FileChannel channel(fd, op);
  ::umask(0);  // modes are those of the request
  try {
    const HelperSession session(op.user);
    for (;;) {
      auto done = perform(channel, op, layer_root_fd);
      channel.on_hangup = nullptr;
      if (!done) channel.fail(done.error());
      if (!may_be_followed(op) || session.is_large()) return 0;
      op = channel.next_operation();
      if (session.holds()) continue;
      channel.send(wire::Type::kCancel, std::string_view());
      return 0;
    }
  } catch (const std::bad_alloc&) {
    channel.on_hangup = nullptr;
    channel.fail(file_error(ENOMEM, op.path));
  } catch (const std::exception& bug) {
    channel.on_hangup = nullptr;
    channel.fail(Error{Code::kInternal, "file_error", op.path + ": " + bug.what(), 0});
  }
  return 1;
}

std::string shown_path(const wire::FileOp& op, const std::string& path) {
  if (!path.empty() && path.front() == '/') return path;
  std::string base = op.workdir.empty() ? "/" : op.workdir;
  if (base.back() != '/') base += '/';
  return path == "." ? base : base + path;
}

wire::FileInfoMsg info_of(std::string path, const struct stat& info, int dir, const char* name) {
  wire::FileInfoMsg out;
  out.path = std::move(path);
  out.kind = S_ISREG(info.st_mode) ? 1 : S_ISDIR(info.st_mode) ? 2 : S_ISLNK(info.st_mode) ? 3 : 4;
  out.size = static_cast<std::uint64_t>(info.st_size);
  out.mode = info.st_mode & 07777;
  out.uid = info.st_uid;
  out.gid = info.st_gid;
  // A file may be of any year; nanoseconds reach from 1677 to 2262.
  out.mtime_ns =
      saturating_sum(saturating_product(info.st_mtim.tv_sec, 1'000'000'000), info.st_mtim.tv_nsec);
  out.inode = info.st_ino;
  if (S_ISLNK(info.st_mode)) {
    char target[kLinkLimit];
    const ssize_t length = ::readlinkat(dir, name, target, sizeof target);
    if (length > 0) out.target.assign(target, static_cast<std::size_t>(length));
  }
  return out;
}

Result<UniqueFd> open_regular(int dir, const char* name, const std::string& shown, bool nofollow,
                              struct stat& info) {
  const int flags = O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC | (nofollow ? O_NOFOLLOW : 0);
  // Looked at before it is opened: merely opening a device may do something.
  CAY_CHECK(stat_path(dir, name, !nofollow, info, shown));
  if (S_ISDIR(info.st_mode)) return is_a_directory(shown);
  if (!S_ISREG(info.st_mode)) return not_a_regular_file(shown);
  UniqueFd file;
  CAY_TRY(file, open_path(dir, name, flags, shown));
  if (::fstat(file.get(), &info) != 0) return file_error(errno, shown);
  if (S_ISDIR(info.st_mode)) return is_a_directory(shown);
  if (!S_ISREG(info.st_mode)) return not_a_regular_file(shown);
  if (is_own_program(info)) return file_error(EACCES, shown);
  return file;
}

Result<std::string> final_target(const std::string& path, const std::string& shown) {
  std::string at = path;
  for (int links = 0; links < kMostLinks; ++links) {
    struct stat info{};
    if (::lstat(at.c_str(), &info) != 0) {
      if (errno == ENOENT) return at;
      return file_error(errno, shown);
    }
    if (!S_ISLNK(info.st_mode)) return at;
    char target[PATH_MAX];
    const ssize_t length = ::readlink(at.c_str(), target, sizeof target);
    if (length <= 0) return file_error(length < 0 ? errno : EINVAL, shown);
    const std::string text(target, static_cast<std::size_t>(length));
    const std::string next = text.starts_with('/') ? text : parent_of(at) + "/" + text;
    // Some links of /proc have a text that is no path, such as /proc/self/exe of a deleted program.
    // Their target has no name here, and a file with that text as its name would surprise its user.
    struct stat led{};
    struct stat named{};
    if (::stat(at.c_str(), &led) == 0 &&
        (::stat(next.c_str(), &named) != 0 || led.st_dev != named.st_dev ||
         led.st_ino != named.st_ino)) {
      return Error{Code::kInvalidArgument, "bad_path",
                   shown + ": leads to what has no name in the sandbox: write to another path", 0};
    }
    at = next;
  }
  return file_error(ELOOP, shown);
}

std::string parent_of(const std::string& path) {
  const std::size_t end = path.find_last_not_of('/');
  const std::size_t slash = end == std::string::npos ? std::string::npos : path.rfind('/', end);
  if (slash == std::string::npos) return path.starts_with('/') ? "/" : ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

std::string base_of(const std::string& path) {
  const std::size_t end = path.find_last_not_of('/');
  if (end == std::string::npos) return {};
  const std::size_t slash = path.rfind('/', end);
  const std::size_t from = slash == std::string::npos ? 0 : slash + 1;
  return path.substr(from, end + 1 - from);
}

Result<void> make_directories(const std::string& path, mode_t mode) {
  struct stat info{};
  const auto found = stat_path(AT_FDCWD, path.c_str(), true, info, path);
  if (found) {
    if (S_ISDIR(info.st_mode)) return {};
    return Error{Code::kAlreadyExists, "already_exists", path + ": exists and is not a directory",
                 EEXIST};
  }
  if (found.error().os_errno != ENOENT) return found.error();
  const std::string parent = parent_of(path);
  if (parent != path) {
    CAY_CHECK(make_directories(parent, 0755));
  }
  // Another process may have made it meanwhile.
  if (::mkdir(path.c_str(), mode) != 0 && errno != EEXIST) return file_error(errno, path);
  return {};
}

timespec time_of(std::int64_t ns) {
  timespec out{};
  out.tv_sec = ns / 1'000'000'000;
  out.tv_nsec = ns % 1'000'000'000;
  if (out.tv_nsec < 0) {
    out.tv_nsec += 1'000'000'000;
    out.tv_sec -= 1;
  }
  return out;
}

Result<std::string> temporary_name(const std::string& shown) {
  unsigned char random[kTemporaryBytes];
  if (::getrandom(random, sizeof random, 0) != ssize_t{sizeof random})
    return file_error(errno, shown);
  std::string name(kTemporaryPrefix);
  for (const unsigned char byte : random) {
    name += kHex[byte >> 4];
    name += kHex[byte & 15];
  }
  return name;
}

bool is_temporary_name(std::string_view name) {
  return name.size() == kTemporaryPrefix.size() + 2 * kTemporaryBytes &&
         name.starts_with(kTemporaryPrefix) &&
         name.find_first_not_of(kHex, kTemporaryPrefix.size()) == std::string_view::npos;
}

Result<PendingFile> PendingFile::create(int dir, const std::string& shown) {
  if (links_unnamed_files(dir)) {
    UniqueFd file(::openat(dir, ".", O_WRONLY | O_TMPFILE | O_CLOEXEC, 0600));
    if (file && is_named_in_proc(file.get())) return PendingFile(dir, {}, std::move(file));
  }
  for (int tries = 0; tries < kMostTries; ++tries) {
    CAY_TRY(std::string name, temporary_name(shown));
    UniqueFd file(
        ::openat(dir, name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (file) return PendingFile(dir, std::move(name), std::move(file));
    if (errno != EEXIST) return file_error(errno, shown);
  }
  return file_error(EEXIST, shown);
}

Result<void> PendingFile::write(std::string_view bytes, const std::string& shown) {
  if (const int failed = content_.append(bytes); failed != 0) return file_error(failed, shown);
  return {};
}

Result<void> PendingFile::finish(const std::string& shown) {
  if (const int failed = content_.finish(); failed != 0) return file_error(failed, shown);
  return {};
}

Result<void> PendingFile::commit(const std::string& name, const std::string& shown,
                                 Existing existing) {
  if (name_.empty()) {
    if (link_as(name) == 0) {
      file_.reset();
      return {};
    }
    if (errno != EEXIST || existing == Existing::kRefuse) return file_error(errno, shown);
    // A link replaces nothing, a rename does.
    for (int tries = 0; name_.empty(); ++tries) {
      CAY_TRY(std::string beside, temporary_name(shown));
      if (link_as(beside) == 0) {
        name_ = std::move(beside);
      } else if (errno != EEXIST || tries == kMostTries) {
        return file_error(errno, shown);
      }
    }
  }
  const unsigned flags = existing == Existing::kRefuse ? RENAME_NOREPLACE : 0;
  if (::renameat2(dir_, name_.c_str(), dir_, name.c_str(), flags) != 0)
    return file_error(errno, shown);
  file_.reset();
  return {};
}

void PendingFile::discard() {
  if (!file_) return;
  file_.reset();
  if (!name_.empty()) ::unlinkat(dir_, name_.c_str(), 0);
}

int PendingFile::link_as(const std::string& name) const {
  return ::linkat(AT_FDCWD, proc_path(file_.get()).c_str(), dir_, name.c_str(), AT_SYMLINK_FOLLOW);
}

}  // namespace cay::keeper
