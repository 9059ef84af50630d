// write_layer: applies the entries of a layer to the root as it lies on the disk.
//
// The entries are foreign. The kernel resolves each path within that root (RESOLVE_IN_ROOT), so a
// link in it leads nowhere else. The last part of a path is never followed.
#include "keeper/file_layer.h"

#include <fcntl.h>
#include <linux/limits.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cerrno>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/sparse_file.h"
#include "base/unique_fd.h"
#include "keeper/file_error.h"
#include "keeper/file_paths.h"
#include "keeper/file_removal.h"
#include "keeper/file_task.h"

namespace cay::keeper {
namespace {

constexpr std::uint32_t kMostOwner = 65535;  // of a sandbox's users
constexpr std::size_t kMostAttribute = 65536;
// The times of directories are set at the end. Until then their names are kept.
constexpr std::size_t kMostDirectoryNames = std::size_t{32} << 20;

class LayerWriter {
 public:
  LayerWriter(FileChannel& channel, int root) : channel_(channel), root_(root) {}

  Result<void> run() {
    for (;;) {
      const wire::Frame frame = channel_.next_upload();
      const auto type = static_cast<wire::Type>(frame.type);
      if (type == wire::Type::kData) {
        const auto data = wire::decode_data(frame.payload);
        if (!data || !file_ || data->bytes.size() > left_) return malformed();
        if (const int err = content_->append(data->bytes); err != 0) return failed(err);
        left_ -= data->bytes.size();
        if (left_ == 0) {
          CAY_CHECK(finish_file());
        }
        continue;
      }
      if (file_) return malformed();
      if (type == wire::Type::kEof) break;
      auto entry = wire::decode<wire::LayerEntryMsg>(frame.payload);
      if (type != wire::Type::kLayerEntry || !entry) return malformed();
      entry_ = *std::move(entry);
      CAY_CHECK(check());
      CAY_CHECK(apply());
    }
    return set_directory_times();
  }

 private:
  struct Directory {
    std::string path;
    std::int64_t mtime_ns;
  };

  static Error malformed() {
    return {Code::kInvalidArgument, "malformed_request",
            "a layer is entries, each file followed by exactly its bytes", 0};
  }
  LayerKind kind() const { return static_cast<LayerKind>(entry_.kind); }
  Error refused(const std::string& why, int err = 0) const {
    return bad_layer(entry_.path, why, err);
  }
  // Returns the error of a system call for the present entry. It is the layer's fault, unless
  // something ran out.
  Error failed(int err) const {
    Error error = file_error(err, layer_entry_name(entry_.path));
    if (error.code == Code::kExhausted || error.code == Code::kInternal) return error;
    error.code = Code::kInvalidArgument;
    error.reason = "bad_layer";
    return error;
  }
  timespec time() const { return time_of(entry_.mtime_ns); }

  Result<void> check() {
    if (!is_plain_relative(entry_.path) || entry_.path.size() >= PATH_MAX)
      return refused("its path is not one within the root");
    if (entry_.kind < static_cast<std::uint8_t>(LayerKind::kFile) ||
        entry_.kind > static_cast<std::uint8_t>(LayerKind::kOpaque))
      return refused("a layer has no entries of this kind");
    if (entry_.path.empty() && kind() != LayerKind::kDirectory && kind() != LayerKind::kOpaque)
      return refused("the root is a directory");
    if (entry_.size != 0 && kind() != LayerKind::kFile)
      return refused("something other than a file has content");
    if (entry_.size > INT64_MAX) return refused("it is too large");
    if ((entry_.mode & ~07777U) != 0) return refused("its mode has more than permissions");
    if (entry_.uid > kMostOwner || entry_.gid > kMostOwner)
      return refused("its owner " + std::to_string(entry_.uid) + ":" + std::to_string(entry_.gid) +
                     " is beyond 65535, the last user of a sandbox");
    const bool links = kind() == LayerKind::kSymlink || kind() == LayerKind::kHardLink;
    if (links && (entry_.target.empty() || entry_.target.size() >= PATH_MAX ||
                  entry_.target.find('\0') != std::string::npos))
      return refused("its target is not a path");
    if (kind() == LayerKind::kHardLink && !is_plain_relative(entry_.target))
      return refused("it links to a path that is not within the root: " + entry_.target);
    return check_attributes();
  }

  // Others than those of a layer are left out: they mean nothing inside, as labels of SELinux.
  Result<void> check_attributes() {
    const bool can_have = kind() == LayerKind::kFile || kind() == LayerKind::kDirectory;
    std::vector<wire::XattrMsg> kept;
    for (wire::XattrMsg& one : entry_.xattrs) {
      if (one.name.starts_with("trusted.") || one.name.starts_with(kOverlayAttributes))
        return refused("it has an attribute of the file system's own: " + one.name);
      if (!is_layer_attribute(one.name)) continue;
      if (one.name.size() > XATTR_NAME_MAX || one.name.find('\0') != std::string::npos ||
          one.value.size() > kMostAttribute)
        return refused("it has an attribute that is too large");
      if (!can_have) return refused("only files and directories have attributes");
      kept.push_back(std::move(one));
    }
    entry_.xattrs = std::move(kept);
    return {};
  }

  // Opens what lies at `path`, with all links resolved within the root.
  UniqueFd open_in_root(const std::string& path, int flags) const {
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

  // Makes the directories of `path` that are missing, as root's.
  Result<void> make_parents(const std::string& path) {
    for (std::size_t slash = path.find('/');; slash = path.find('/', slash + 1)) {
      const std::string part = path.substr(0, slash);
      if (const UniqueFd there = open_in_root(part, O_PATH | O_DIRECTORY); !there) {
        if (errno != ENOENT) return failed(errno);
        const std::size_t last = part.rfind('/');
        const bool top = last == std::string::npos;
        const UniqueFd above =
            open_in_root(top ? std::string() : part.substr(0, last), O_PATH | O_DIRECTORY);
        if (!above) return failed(errno);
        const std::string name = top ? part : part.substr(last + 1);
        if (::mkdirat(above.get(), name.c_str(), 0755) != 0 ||
            ::fchownat(above.get(), name.c_str(), 0, 0, AT_SYMLINK_NOFOLLOW) != 0)
          return failed(errno);
      }
      if (slash == std::string::npos) return {};
    }
  }

  // Sets dir_ and name_ for `path`. False: its parent is missing, and `make` was not set.
  Result<bool> find_parent(const std::string& path, bool make) {
    const std::size_t slash = path.rfind('/');
    const std::string parent = slash == std::string::npos ? std::string() : path.substr(0, slash);
    name_ = slash == std::string::npos ? path : path.substr(slash + 1);
    // Layers come directory by directory. An entry that could change what lies at dir_path_ lies
    // elsewhere, and so ends its turn.
    if (dir_ && parent == dir_path_) return true;
    dir_ = open_in_root(parent, O_PATH | O_DIRECTORY);
    if (!dir_ && errno == ENOENT && make) {
      CAY_CHECK(make_parents(parent));
      dir_ = open_in_root(parent, O_PATH | O_DIRECTORY);
    }
    if (!dir_ && !make && (errno == ENOENT || errno == ENOTDIR)) return false;
    if (!dir_) return failed(errno);
    dir_path_ = parent;
    return true;
  }

  // Removes what is at the entry's place.
  Result<void> clear_place() {
    if (::unlinkat(dir_.get(), name_.c_str(), 0) == 0 || errno == ENOENT) return {};
    const int err = errno;
    struct stat info{};
    const bool directory = ::fstatat(dir_.get(), name_.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0 &&
                           S_ISDIR(info.st_mode);
    if (!directory) return failed(err);
    if (auto removed = remove_tree(channel_, dir_.get(), name_, layer_entry_name(entry_.path));
        !removed)
      return failed(removed.error().os_errno);
    return {};
  }

  // Calls `make`, which returns -1 with EEXIST while something else is there; that is then removed.
  template <class Make>
  Result<int> make_anew(const Make& make) {
    int made = make();
    for (int tries = 0; made < 0 && errno == EEXIST && tries < 4; ++tries) {
      CAY_CHECK(clear_place());
      made = make();
    }
    if (made < 0) return failed(errno);
    return made;
  }

  Result<void> apply() {
    if (kind() == LayerKind::kOpaque) return make_opaque();
    if (!entry_.path.empty()) {
      CAY_TRY(const bool found, find_parent(entry_.path, kind() != LayerKind::kGone));
      if (!found) return {};
    }
    switch (kind()) {
      case LayerKind::kFile: return begin_file();
      case LayerKind::kDirectory: return make_directory();
      case LayerKind::kSymlink: return make_symlink();
      case LayerKind::kHardLink: return make_hard_link();
      case LayerKind::kFifo: return make_fifo();
      default: return clear_place();
    }
  }

  // Sets owner, mode and attributes of a file or a directory. Its time comes last.
  Result<void> set_facts(int fd) {
    // The owner first: a change of owner clears the setuid bit and capabilities.
    if (::fchown(fd, entry_.uid, entry_.gid) != 0 ||
        ::fchmod(fd, static_cast<mode_t>(entry_.mode)) != 0)
      return failed(errno);
    for (const wire::XattrMsg& one : entry_.xattrs) {
      if (::fsetxattr(fd, one.name.c_str(), one.value.data(), one.value.size(), 0) != 0) {
        const Error error = failed(errno);
        return Error{error.code, error.reason, error.message + ", for the attribute " + one.name,
                     error.os_errno};
      }
    }
    return {};
  }
  // Sets both for an entry that is not opened.
  Result<void> set_owner_and_time() {
    const timespec times[2] = {time(), time()};
    if (::fchownat(dir_.get(), name_.c_str(), entry_.uid, entry_.gid, AT_SYMLINK_NOFOLLOW) != 0 ||
        ::utimensat(dir_.get(), name_.c_str(), times, AT_SYMLINK_NOFOLLOW) != 0)
      return failed(errno);
    return {};
  }

  Result<void> begin_file() {
    CAY_TRY(const int made, make_anew([this] {
              return ::openat(dir_.get(), name_.c_str(),
                              O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
            }));
    file_.reset(made);
    content_.emplace(made);
    left_ = entry_.size;
    if (left_ == 0) return finish_file();
    return {};
  }

  Result<void> finish_file() {
    if (const int err = content_->finish(); err != 0) return failed(err);
    CAY_CHECK(set_facts(file_.get()));
    const timespec times[2] = {time(), time()};
    if (::futimens(file_.get(), times) != 0) return failed(errno);
    content_.reset();
    file_.reset();
    return {};
  }

  Result<void> make_directory() {
    UniqueFd made;
    if (entry_.path.empty()) {
      made = open_in_root({}, O_RDONLY | O_DIRECTORY);
    } else {
      const auto make_or_open = [this] {
        if (::mkdirat(dir_.get(), name_.c_str(), 0700) != 0 && errno != EEXIST) return -1;
        const int fd =
            ::openat(dir_.get(), name_.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (fd < 0 && (errno == ELOOP || errno == ENOTDIR)) errno = EEXIST;  // it gives way
        return fd;
      };
      CAY_TRY(const int fd, make_anew(make_or_open));
      made.reset(fd);
    }
    if (!made) return failed(errno);
    CAY_CHECK(set_facts(made.get()));
    directory_names_ += entry_.path.size() + sizeof(Directory);
    if (directory_names_ > kMostDirectoryNames)
      return refused("the layer has too many directories");
    directories_.push_back({entry_.path, entry_.mtime_ns});
    return {};
  }

  Result<void> make_symlink() {
    CAY_CHECK(make_anew(
        [this] { return ::symlinkat(entry_.target.c_str(), dir_.get(), name_.c_str()); }));
    return set_owner_and_time();
  }

  Result<void> make_hard_link() {
    const std::string parent = parent_of(entry_.target);
    const std::string name = base_of(entry_.target);
    const UniqueFd from =
        open_in_root(parent == "." ? std::string() : parent, O_PATH | O_DIRECTORY);
    struct stat source{};
    if (!from || ::fstatat(from.get(), name.c_str(), &source, AT_SYMLINK_NOFOLLOW) != 0)
      return refused("it links to what is not there: " + entry_.target, errno);
    if (S_ISDIR(source.st_mode)) return refused("it links to a directory: " + entry_.target);
    struct stat here{};
    if (::fstatat(dir_.get(), name_.c_str(), &here, AT_SYMLINK_NOFOLLOW) == 0 &&
        here.st_dev == source.st_dev && here.st_ino == source.st_ino)
      return {};  // it is that file already, and must not be removed
    CAY_CHECK(make_anew(
        [&] { return ::linkat(from.get(), name.c_str(), dir_.get(), name_.c_str(), 0); }));
    return {};
  }

  Result<void> make_fifo() {
    CAY_CHECK(make_anew([this] {
      return ::mknodat(dir_.get(), name_.c_str(), S_IFIFO | static_cast<mode_t>(entry_.mode), 0);
    }));
    return set_owner_and_time();
  }

  Result<void> make_opaque() {
    const UniqueFd dir = open_in_root(entry_.path, O_RDONLY | O_DIRECTORY);
    if (!dir && errno == ENOENT) return {};
    if (!dir) return failed(errno);
    if (auto emptied = empty_directory(channel_, dir.get(), layer_entry_name(entry_.path));
        !emptied)
      return failed(emptied.error().os_errno);
    dir_.reset();  // it may have lain there
    return {};
  }

  // Last: whatever is written into a directory changes its time.
  Result<void> set_directory_times() {
    for (auto at = directories_.rbegin(); at != directories_.rend(); ++at) {
      channel_.heartbeat();
      entry_ = {};
      entry_.path = at->path;
      const timespec times[2] = {time_of(at->mtime_ns), time_of(at->mtime_ns)};
      if (at->path.empty()) {
        const UniqueFd root = open_in_root({}, O_RDONLY | O_DIRECTORY);
        if (!root || ::futimens(root.get(), times) != 0) return failed(errno);
        continue;
      }
      CAY_TRY(const bool found, find_parent(at->path, false));
      struct stat info{};
      // A later entry may have put something else there.
      if (!found || ::fstatat(dir_.get(), name_.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0 ||
          !S_ISDIR(info.st_mode))
        continue;
      if (::utimensat(dir_.get(), name_.c_str(), times, AT_SYMLINK_NOFOLLOW) != 0)
        return failed(errno);
    }
    return {};
  }

  FileChannel& channel_;
  const int root_;
  wire::LayerEntryMsg entry_;
  UniqueFd dir_;          // where the present entry lies
  std::string dir_path_;  // of dir_
  std::string name_;      // in dir_
  UniqueFd file_;         // whose content comes
  std::optional<SparseFile> content_;
  std::uint64_t left_ = 0;
  std::vector<Directory> directories_;
  std::size_t directory_names_ = 0;
};

}  // namespace

Result<void> write_layer(FileChannel& channel, int root_fd) {
  LayerWriter writer(channel, root_fd);
  CAY_CHECK(writer.run());
  channel.ok();
  return {};
}

}  // namespace cay::keeper
