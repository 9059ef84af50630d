// read_tree and write_tree: directories as a whole: files, directories and symbolic links, with
// their modes and times. Other kinds are sent as what they are and carry nothing. A directory that
// lies too deep is sent as one of these.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <vector>

#include "base/relative_path.h"
#include "keeper/file_error.h"
#include "keeper/file_names.h"
#include "keeper/file_paths.h"
#include "keeper/file_task.h"

namespace cay::keeper {
namespace {

constexpr int kMostDepth = 500;
constexpr std::uint8_t kFile = 1, kDirectory = 2, kSymlink = 3, kOther = 4;
constexpr long kProcMagic = 0x9fa0, kSysMagic = 0x62656572;  // linux/magic.h

Result<void> send_file(FileChannel& channel, int dir, const char* name, const std::string& relative,
                       const std::string& shown, bool nofollow) {
  struct stat info{};
  CAY_TRY(auto file, open_regular(dir, name, shown, nofollow, info));
  channel.send_entry(info_of(relative, info, dir, name));
  std::uint64_t offset = 0;
  auto left = static_cast<std::uint64_t>(info.st_size);
  std::vector<char> buffer(wire::kDataChunk);
  while (left > 0) {
    const auto want = static_cast<std::size_t>(std::min<std::uint64_t>(left, buffer.size()));
    const ssize_t got = ::pread(file.get(), buffer.data(), want, static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return file_error(errno, shown);
    if (got == 0) {
      return Error{Code::kConflict, "file_changing",
                   shown + ": became shorter while it was read: retry", 0};
    }
    const auto size = static_cast<std::size_t>(got);
    channel.send_data(offset, std::string_view(buffer.data(), size));
    offset += size;
    left -= size;
  }
  return {};
}

Result<void> send_directory(FileChannel& channel, int dir, const std::string& relative,
                            const std::string& shown, int depth) {
  CAY_TRY(auto names, names_in(dir, shown));
  for (const std::string& name : names) {
    channel.heartbeat();
    const std::string below = relative.empty() ? name : relative + "/" + name;
    const std::string path = shown + "/" + name;
    struct stat info{};
    if (::fstatat(dir, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) {
      if (errno == ENOENT) continue;  // gone meanwhile
      return file_error(errno, path);
    }
    if (S_ISREG(info.st_mode)) {
      CAY_CHECK(send_file(channel, dir, name.c_str(), below, path, true));
      continue;
    }
    wire::FileInfoMsg entry = info_of(below, info, dir, name.c_str());
    if (!S_ISLNK(info.st_mode)) entry.size = 0;
    const bool too_deep = depth == kMostDepth;
    if (too_deep && S_ISDIR(info.st_mode)) entry.kind = kOther;
    channel.send_entry(entry);
    if (!S_ISDIR(info.st_mode) || too_deep) continue;
    CAY_TRY(const UniqueFd sub,
            open_path(dir, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK, path));
    CAY_CHECK(send_directory(channel, sub.get(), below, path, depth + 1));
  }
  return {};
}

// The writing side of a tree.
class TreeWriter {
 public:
  TreeWriter(FileChannel& channel, const wire::FileOp& op, std::string shown)
      : channel_(channel), op_(op), shown_(std::move(shown)) {
    channel_.on_hangup = [this] {
      if (pending_) pending_->discard();
    };
  }

  Result<void> run() {
    for (;;) {
      const wire::Frame frame = channel_.next_upload();
      const auto type = static_cast<wire::Type>(frame.type);
      if (type == wire::Type::kData) {
        const auto data = wire::decode_data(frame.payload);
        if (!data || !pending_ || data->bytes.size() > left_) return malformed();
        CAY_CHECK(pending_->write(data->bytes, path()));
        left_ -= data->bytes.size();
        if (left_ == 0) {
          CAY_CHECK(finish_file());
        }
        continue;
      }
      if (pending_) return malformed();
      if (type == wire::Type::kEof) break;
      auto entry = wire::decode<wire::FileInfoMsg>(frame.payload);
      if (type != wire::Type::kFileInfo || !entry || !is_plain_relative(entry->path))
        return malformed();
      entry_ = *std::move(entry);
      CAY_CHECK(begin_entry());
    }
    // Last: whatever is written into a directory changes its time, and its mode may forbid writing.
    for (auto at = directories_.rbegin(); at != directories_.rend(); ++at) finish_directory(*at);
    return {};
  }

 private:
  static Error malformed() {
    return {Code::kInvalidArgument, "malformed_request",
            "a tree is entries with relative paths, each file followed by exactly its bytes", 0};
  }
  std::string path() const { return entry_.path.empty() ? shown_ : shown_ + "/" + entry_.path; }
  mode_t mode(mode_t fallback) const {
    return entry_.mode != 0 ? static_cast<mode_t>(entry_.mode & 07777) : fallback;
  }

  // Opens the directory that holds the entry, from the root down, through no symbolic link, making
  // what is missing.
  Result<UniqueFd> open_parent() {
    CAY_CHECK(make_directories(op_.path, 0755));
    UniqueFd at;
    CAY_TRY(at, open_path(AT_FDCWD, op_.path.c_str(), O_RDONLY | O_DIRECTORY, shown_));
    std::string_view rest = entry_.path;
    for (std::size_t slash = rest.find('/'); slash != std::string_view::npos;
         slash = rest.find('/')) {
      const std::string part(rest.substr(0, slash));
      rest.remove_prefix(slash + 1);
      constexpr int kFlags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
      UniqueFd next(::openat(at.get(), part.c_str(), kFlags));
      if (!next && errno == ENOENT && ::mkdirat(at.get(), part.c_str(), 0755) == 0) {
        next.reset(::openat(at.get(), part.c_str(), kFlags));
      }
      if (!next) return file_error(errno == ELOOP ? ENOTDIR : errno, path());
      at = std::move(next);
    }
    return at;
  }

  Result<void> begin_entry() {
    if (entry_.path.empty() && entry_.kind == kDirectory) {
      CAY_CHECK(make_directories(op_.path, 0755));
      directories_.push_back(entry_);
      return {};
    }
    if (entry_.path.empty()) {  // the whole tree is one file
      const std::string parent = parent_of(op_.path);
      CAY_CHECK(make_directories(parent, 0755));
      CAY_TRY(dir_, open_path(AT_FDCWD, parent.c_str(), O_RDONLY | O_DIRECTORY, shown_));
      name_ = base_of(op_.path);
    } else {
      CAY_TRY(dir_, open_parent());
      name_ = base_of(entry_.path);
    }
    switch (entry_.kind) {
      case kFile: return begin_file();
      case kDirectory: return begin_directory();
      case kSymlink: return make_symlink();
      default: return {};
    }
  }

  Result<void> begin_file() {
    struct stat old{};
    if (::fstatat(dir_.get(), name_.c_str(), &old, AT_SYMLINK_NOFOLLOW) == 0 &&
        S_ISDIR(old.st_mode)) {
      return is_a_directory(path());
    }
    CAY_TRY(auto created, PendingFile::create(dir_.get(), path()));
    pending_ = std::make_unique<PendingFile>(std::move(created));
    left_ = entry_.size;
    if (left_ == 0) return finish_file();
    return {};
  }

  Result<void> finish_file() {
    CAY_CHECK(pending_->finish(path()));
    const timespec times[2] = {time_of(entry_.mtime_ns), time_of(entry_.mtime_ns)};
    if (::fchmod(pending_->fd(), mode(0644)) != 0) return file_error(errno, path());
    if (entry_.mtime_ns != 0) ::futimens(pending_->fd(), times);
    CAY_CHECK(pending_->commit(name_, path()));
    pending_.reset();
    return {};
  }

  Result<void> begin_directory() {
    if (::mkdirat(dir_.get(), name_.c_str(), 0755) != 0) {
      if (errno != EEXIST) return file_error(errno, path());
      struct stat old{};
      if (::fstatat(dir_.get(), name_.c_str(), &old, AT_SYMLINK_NOFOLLOW) != 0 ||
          !S_ISDIR(old.st_mode)) {
        return file_error(EEXIST, path());
      }
    }
    directories_.push_back(entry_);
    return {};
  }

  Result<void> make_symlink() {
    struct stat old{};
    if (::fstatat(dir_.get(), name_.c_str(), &old, AT_SYMLINK_NOFOLLOW) == 0) {
      if (S_ISDIR(old.st_mode)) return is_a_directory(path());
      ::unlinkat(dir_.get(), name_.c_str(), 0);
    }
    if (::symlinkat(entry_.target.c_str(), dir_.get(), name_.c_str()) != 0)
      return file_error(errno, path());
    return {};
  }

  void finish_directory(const wire::FileInfoMsg& entry) {
    entry_ = entry;
    UniqueFd target;
    if (entry.path.empty()) {
      if (auto root = open_path(AT_FDCWD, op_.path.c_str(), O_RDONLY | O_DIRECTORY, shown_))
        target = *std::move(root);
    } else if (auto parent = open_parent()) {
      target.reset(::openat(parent->get(), base_of(entry.path).c_str(),
                            O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    }
    if (!target) return;
    const timespec times[2] = {time_of(entry.mtime_ns), time_of(entry.mtime_ns)};
    if (entry.mode != 0) ::fchmod(target.get(), mode(0755));
    if (entry.mtime_ns != 0) ::futimens(target.get(), times);
  }

  FileChannel& channel_;
  const wire::FileOp& op_;
  std::string shown_;
  wire::FileInfoMsg entry_;
  std::vector<wire::FileInfoMsg> directories_;
  UniqueFd dir_;  // of the current entry
  std::string name_;
  std::unique_ptr<PendingFile> pending_;
  std::uint64_t left_ = 0;
};

}  // namespace

Result<void> read_tree(FileChannel& channel, const wire::FileOp& op) {
  std::string shown = shown_path(op, op.path);
  while (shown.size() > 1 && shown.ends_with('/')) shown.pop_back();
  struct stat info{};
  CAY_CHECK(stat_path(AT_FDCWD, op.path.c_str(), true, info, shown));
  if (S_ISREG(info.st_mode)) {
    CAY_CHECK(send_file(channel, AT_FDCWD, op.path.c_str(), {}, shown, false));
  } else if (S_ISDIR(info.st_mode)) {
    CAY_TRY(const UniqueFd root,
            open_path(AT_FDCWD, op.path.c_str(), O_RDONLY | O_DIRECTORY | O_NONBLOCK, shown));
    struct statfs fs{};
    if (::fstatfs(root.get(), &fs) == 0 && (fs.f_type == kProcMagic || fs.f_type == kSysMagic)) {
      // Its files have no size, some have no end, and processes come and go between them.
      return Error{Code::kInvalidArgument, "not_a_regular_file",
                   shown + ": the kernel makes this directory's files: copy them one by one", 0};
    }
    wire::FileInfoMsg entry = info_of({}, info, AT_FDCWD, op.path.c_str());
    entry.size = 0;
    channel.send_entry(entry);
    CAY_CHECK(send_directory(channel, root.get(), {}, shown, 0));
  } else {
    return not_a_regular_file(shown);
  }
  channel.send(wire::Type::kEof, wire::Eof{});
  return {};
}

Result<void> write_tree(FileChannel& channel, const wire::FileOp& op) {
  std::string shown = shown_path(op, op.path);
  while (shown.size() > 1 && shown.ends_with('/')) shown.pop_back();
  TreeWriter writer(channel, op, shown);
  CAY_CHECK(writer.run());
  channel.ok();
  return {};
}

}  // namespace cay::keeper
