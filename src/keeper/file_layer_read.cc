// read_layer: a directory as the entries of a layer, in the order of their names. A file is one
// entry. overlayfs's marks become kGone and kOpaque. Other mounts below it are left out, and so
// are sockets.
#include <fcntl.h>
#include <linux/limits.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "keeper/file_error.h"
#include "keeper/file_layer.h"
#include "keeper/file_names.h"
#include "keeper/file_paths.h"
#include "keeper/file_task.h"

namespace cay::keeper {
namespace {

constexpr int kDeepestEntry = 1000;  // each level holds a descriptor and a frame of the stack
constexpr long kProcFiles = 0x9fa0, kSysFiles = 0x62656572;  // linux/magic.h

class LayerSender {
 public:
  explicit LayerSender(FileChannel& channel) : channel_(channel), buffer_(wire::kDataChunk) {}

  Result<void> send_directory(int dir, const std::string& path, const struct stat& info,
                              int depth) {
    channel_.heartbeat();
    if (depth == kDeepestEntry)
      return bad_layer(path, "it lies deeper than " + std::to_string(kDeepestEntry) + " levels");
    CAY_CHECK(send_entry(path, LayerKind::kDirectory, info, dir));
    if (is_opaque(dir)) {
      CAY_CHECK(send_mark(path, LayerKind::kOpaque));
    }
    CAY_TRY(const auto names, names_in(dir, layer_entry_name(path)));
    for (const std::string& name : names) {
      CAY_CHECK(send_name(dir, name, path.empty() ? name : path + "/" + name, depth));
    }
    return {};
  }

  Result<void> send_opened(int file, const std::string& path, const struct stat& info) {
    CAY_CHECK(send_entry(path, LayerKind::kFile, info, file));
    return send_content(file, path, static_cast<std::uint64_t>(info.st_size));
  }

 private:
  using Inode = std::pair<dev_t, ino_t>;
  struct First {
    std::string path;
    nlink_t left;  // names that may still come
  };

  static bool is_opaque(int dir) {
    char value = 0;
    return ::fgetxattr(dir, kOpaqueAttribute, &value, 1) == 1 && value == 'y';
  }

  Result<void> send_name(int dir, const std::string& name, const std::string& path, int depth) {
    struct stat info{};
    if (::fstatat(dir, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) {
      if (errno == ENOENT) return {};  // gone meanwhile
      return file_error(errno, layer_entry_name(path));
    }
    switch (info.st_mode & S_IFMT) {
      case S_IFREG: return send_file(dir, name, path);
      case S_IFDIR: return send_below(dir, name, path, depth);
      case S_IFLNK: return send_link(dir, name, path, info);
      case S_IFIFO: return send_entry(path, LayerKind::kFifo, info, -1);
      case S_IFSOCK: return {};
      default: break;
    }
    if (S_ISCHR(info.st_mode) && info.st_rdev == 0) return send_mark(path, LayerKind::kGone);
    return bad_layer(path, "it is a device, which a layer cannot have");
  }

  // Opens what lies in `dir` itself. Fails with ELOOP for a link and EXDEV for another mount.
  static UniqueFd open_here(int dir, const std::string& name, int flags) {
    const open_how how{.flags = static_cast<std::uint64_t>(flags | O_RDONLY | O_NONBLOCK |
                                                           O_NOCTTY | O_NOFOLLOW | O_CLOEXEC),
                       .mode = 0,
                       .resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV};
    return UniqueFd(static_cast<int>(::syscall(SYS_openat2, dir, name.c_str(), &how, sizeof how)));
  }

  Result<void> send_below(int dir, const std::string& name, const std::string& path, int depth) {
    const UniqueFd sub = open_here(dir, name, O_DIRECTORY);
    if (!sub && (errno == EXDEV || errno == ENOENT)) return {};
    struct stat info{};
    if (!sub || ::fstat(sub.get(), &info) != 0) return file_error(errno, layer_entry_name(path));
    return send_directory(sub.get(), path, info, depth + 1);
  }

  Result<void> send_link(int dir, const std::string& name, const std::string& path,
                         const struct stat& info) {
    const auto link = info_of(path, info, dir, name.c_str());
    if (link.target.empty()) return file_error(EIO, layer_entry_name(path));
    wire::LayerEntryMsg entry = entry_of(path, LayerKind::kSymlink, info);
    entry.target = link.target;
    return send(entry);
  }

  Result<void> send_file(int dir, const std::string& name, const std::string& path) {
    const UniqueFd file = open_here(dir, name, 0);
    if (!file && (errno == EXDEV || errno == ENOENT)) return {};
    struct stat info{};
    if (!file || ::fstat(file.get(), &info) != 0) return file_error(errno, layer_entry_name(path));
    if (!S_ISREG(info.st_mode)) return not_a_regular_file(layer_entry_name(path));
    if (info.st_nlink > 1) {
      const auto [first, is_new] =
          first_of_.try_emplace(Inode{info.st_dev, info.st_ino}, path, info.st_nlink);
      if (!is_new) {
        wire::LayerEntryMsg entry = entry_of(path, LayerKind::kHardLink, info);
        entry.target = first->second.path;
        if (--first->second.left <= 1) first_of_.erase(first);
        return send(entry);
      }
    }
    return send_opened(file.get(), path, info);
  }

  Result<void> send_content(int file, const std::string& path, std::uint64_t left) {
    for (std::uint64_t offset = 0; left > 0;) {
      const auto want = static_cast<std::size_t>(std::min<std::uint64_t>(left, buffer_.size()));
      const ssize_t got = ::pread(file, buffer_.data(), want, static_cast<off_t>(offset));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return file_error(errno, layer_entry_name(path));
      if (got == 0) {
        return Error{Code::kConflict, "file_changing",
                     layer_entry_name(path) + ": became shorter while it was read: retry", 0};
      }
      const auto size = static_cast<std::size_t>(got);
      channel_.send_data(offset, std::string_view(buffer_.data(), size));
      offset += size;
      left -= size;
    }
    return {};
  }

  static wire::LayerEntryMsg entry_of(const std::string& path, LayerKind kind,
                                      const struct stat& info) {
    const wire::FileInfoMsg facts = info_of(path, info, -1, "");
    wire::LayerEntryMsg entry;
    entry.path = path;
    entry.kind = static_cast<std::uint8_t>(kind);
    entry.size = kind == LayerKind::kFile ? facts.size : 0;
    entry.mode = facts.mode;
    entry.uid = facts.uid;
    entry.gid = facts.gid;
    entry.mtime_ns = facts.mtime_ns;
    return entry;
  }

  // `fd` < 0: it has no attributes.
  Result<void> send_entry(const std::string& path, LayerKind kind, const struct stat& info,
                          int fd) {
    wire::LayerEntryMsg entry = entry_of(path, kind, info);
    if (fd >= 0) {
      CAY_CHECK(add_attributes(fd, entry));
    }
    return send(entry);
  }

  Result<void> send_mark(const std::string& path, LayerKind kind) {
    wire::LayerEntryMsg entry;
    entry.path = path;
    entry.kind = static_cast<std::uint8_t>(kind);
    return send(entry);
  }

  Result<void> send(const wire::LayerEntryMsg& entry) {
    if (!channel_.send_entry(entry))
      return bad_layer(entry.path, "its attributes take more than a frame holds");
    return {};
  }

  // The kernel lists at most 64 KiB of names, and a value has at most as much (linux/limits.h).
  Result<void> add_attributes(int fd, wire::LayerEntryMsg& entry) {
    const ssize_t size = ::flistxattr(fd, buffer_.data(), XATTR_LIST_MAX);
    if (size == 0 || (size < 0 && errno == ENOTSUP)) return {};
    if (size < 0) return file_error(errno, layer_entry_name(entry.path));
    const std::string names(buffer_.data(), static_cast<std::size_t>(size));
    for (std::size_t at = 0; at < names.size();) {
      const std::string name(names.c_str() + at);
      at += name.size() + 1;
      if (!is_layer_attribute(name)) continue;
      const ssize_t length = ::fgetxattr(fd, name.c_str(), buffer_.data(), XATTR_SIZE_MAX);
      if (length < 0 && errno == ENODATA) continue;
      if (length < 0)
        return file_error(errno, layer_entry_name(entry.path) + ", attribute " + name);
      entry.xattrs.push_back({name, std::string(buffer_.data(), static_cast<std::size_t>(length))});
    }
    std::ranges::sort(entry.xattrs, {}, &wire::XattrMsg::name);
    return {};
  }

  FileChannel& channel_;
  std::vector<char> buffer_;
  std::map<Inode, First> first_of_;  // of files with more than one name
  static_assert(XATTR_LIST_MAX <= wire::kDataChunk && XATTR_SIZE_MAX <= wire::kDataChunk);
};

}  // namespace

Result<void> read_layer(FileChannel& channel, const wire::FileOp& op) {
  const std::string shown = shown_path(op, op.path);
  LayerSender sender(channel);
  struct stat info{};
  auto root = open_path(AT_FDCWD, op.path.c_str(), O_RDONLY | O_DIRECTORY | O_NONBLOCK, shown);
  if (!root && root.error().os_errno == ENOTDIR) {
    CAY_TRY(const UniqueFd file, open_regular(AT_FDCWD, op.path.c_str(), shown, false, info));
    CAY_CHECK(sender.send_opened(file.get(), {}, info));
    channel.send(wire::Type::kEof, wire::Eof{});
    return {};
  }
  if (!root) return std::move(root).error();
  struct statfs fs{};
  if (::fstat(root->get(), &info) != 0 || ::fstatfs(root->get(), &fs) != 0)
    return file_error(errno, shown);
  if (fs.f_type == kProcFiles || fs.f_type == kSysFiles)
    return Error{Code::kInvalidArgument, "bad_layer",
                 shown + ": the kernel makes this directory's files, so it is no layer", 0};
  CAY_CHECK(sender.send_directory(root->get(), {}, info, 0));
  channel.send(wire::Type::kEof, wire::Eof{});
  return {};
}

}  // namespace cay::keeper
