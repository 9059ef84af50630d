// write_layer: applies the entries of a layer to the root as it lies on the disk.
//
// The entries are foreign: file_layer_check.h checks each, and file_layer_place.h finds its place.
#include "keeper/file_layer.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cerrno>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/sparse_file.h"
#include "base/unique_fd.h"
#include "keeper/file_layer_check.h"
#include "keeper/file_layer_place.h"
#include "keeper/file_paths.h"
#include "keeper/file_removal.h"
#include "keeper/file_task.h"

namespace cay::keeper {
namespace {

// The times of directories are set at the end. Until then their names are kept.
constexpr std::size_t kMostDirectoryNames = std::size_t{32} << 20;

class LayerWriter {
 public:
  LayerWriter(FileChannel& channel, int root) : channel_(channel), place_(root) {}

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
      CAY_CHECK(check_layer_entry(entry_));
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
  Error failed(int err) const { return layer_failure(entry_.path, err); }
  timespec time() const { return time_of(entry_.mtime_ns); }

  // Removes what is at the entry's place.
  Result<void> clear_place() {
    if (::unlinkat(place_.dir(), place_.name(), 0) == 0 || errno == ENOENT) return {};
    const int err = errno;
    struct stat info{};
    const bool directory =
        ::fstatat(place_.dir(), place_.name(), &info, AT_SYMLINK_NOFOLLOW) == 0 &&
        S_ISDIR(info.st_mode);
    if (!directory) return failed(err);
    if (auto removed =
            remove_tree(channel_, place_.dir(), place_.name(), layer_entry_name(entry_.path));
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
      CAY_TRY(const bool found, place_.find(entry_.path, kind() != LayerKind::kGone));
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
    if (::fchownat(place_.dir(), place_.name(), entry_.uid, entry_.gid, AT_SYMLINK_NOFOLLOW) != 0 ||
        ::utimensat(place_.dir(), place_.name(), times, AT_SYMLINK_NOFOLLOW) != 0)
      return failed(errno);
    return {};
  }

  Result<void> begin_file() {
    CAY_TRY(const int made, make_anew([this] {
              return ::openat(place_.dir(), place_.name(),
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
      made = place_.open({}, O_RDONLY | O_DIRECTORY);
    } else {
      const auto make_or_open = [this] {
        if (::mkdirat(place_.dir(), place_.name(), 0700) != 0 && errno != EEXIST) return -1;
        const int fd =
            ::openat(place_.dir(), place_.name(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
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
        [this] { return ::symlinkat(entry_.target.c_str(), place_.dir(), place_.name()); }));
    return set_owner_and_time();
  }

  Result<void> make_hard_link() {
    const std::string parent = parent_of(entry_.target);
    const std::string name = base_of(entry_.target);
    const UniqueFd from = place_.open(parent == "." ? std::string() : parent, O_PATH | O_DIRECTORY);
    struct stat source{};
    if (!from || ::fstatat(from.get(), name.c_str(), &source, AT_SYMLINK_NOFOLLOW) != 0)
      return refused("it links to what is not there: " + entry_.target, errno);
    if (S_ISDIR(source.st_mode)) return refused("it links to a directory: " + entry_.target);
    struct stat here{};
    if (::fstatat(place_.dir(), place_.name(), &here, AT_SYMLINK_NOFOLLOW) == 0 &&
        here.st_dev == source.st_dev && here.st_ino == source.st_ino)
      return {};  // it is that file already, and must not be removed
    CAY_CHECK(make_anew(
        [&] { return ::linkat(from.get(), name.c_str(), place_.dir(), place_.name(), 0); }));
    return {};
  }

  Result<void> make_fifo() {
    CAY_CHECK(make_anew([this] {
      return ::mknodat(place_.dir(), place_.name(), S_IFIFO | static_cast<mode_t>(entry_.mode), 0);
    }));
    return set_owner_and_time();
  }

  Result<void> make_opaque() {
    const UniqueFd dir = place_.open(entry_.path, O_RDONLY | O_DIRECTORY);
    if (!dir && errno == ENOENT) return {};
    if (!dir) return failed(errno);
    if (auto emptied = empty_directory(channel_, dir.get(), layer_entry_name(entry_.path));
        !emptied)
      return failed(emptied.error().os_errno);
    place_.forget();  // it may have lain there
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
        const UniqueFd root = place_.open({}, O_RDONLY | O_DIRECTORY);
        if (!root || ::futimens(root.get(), times) != 0) return failed(errno);
        continue;
      }
      CAY_TRY(const bool found, place_.find(at->path, false));
      struct stat info{};
      // A later entry may have put something else there.
      if (!found || ::fstatat(place_.dir(), place_.name(), &info, AT_SYMLINK_NOFOLLOW) != 0 ||
          !S_ISDIR(info.st_mode))
        continue;
      if (::utimensat(place_.dir(), place_.name(), times, AT_SYMLINK_NOFOLLOW) != 0)
        return failed(errno);
    }
    return {};
  }

  FileChannel& channel_;
  wire::LayerEntryMsg entry_;
  LayerPlace place_;  // where the present entry lies
  UniqueFd file_;     // whose content comes
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
