// chmod and chown, of one path or a tree.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <functional>

#include "keeper/file_details.h"
#include "keeper/file_error.h"
#include "keeper/file_names.h"
#include "keeper/file_owner.h"
#include "keeper/file_paths.h"
#include "keeper/file_task.h"

namespace cay::keeper {
namespace {

constexpr int kMostTreeDepth = 500;  // each level holds a descriptor

// Returns 0 or an errno. `fd` is O_PATH.
using Change = std::function<int(int fd, const struct stat& info)>;

struct TreeChange {
  FileChannel& channel;
  const Change& change;
  wire::FileDoneMsg done;

  Result<void> apply(int fd, const struct stat& info, const std::string& shown) {
    channel.heartbeat();
    if (const int failed = change(fd, info); failed != 0) return file_error(failed, shown);
    ++done.entries;
    return {};
  }

  // All that lies below the open directory. Symbolic links are not followed.
  Result<void> below(int dir, const std::string& shown, int depth) {
    if (depth > kMostTreeDepth) {
      return Error{Code::kUnsupported, "tree_too_deep",
                   shown + ": lies more than 500 directories deep", 0};
    }
    CAY_TRY(const auto names, names_in(dir, shown));
    for (const std::string& name : names) {
      const std::string path = shown == "/" ? shown + name : shown + "/" + name;
      auto entry = open_path(dir, name.c_str(), O_PATH | O_NOFOLLOW, path);
      if (!entry) {
        if (entry.error().os_errno == ENOENT) continue;  // gone meanwhile
        return std::move(entry).error();
      }
      CAY_CHECK(with_contents(entry->get(), path, depth));
    }
    return {};
  }

  // First the entry, then what it contains. A mode that takes the right to read a directory away
  // does not stop its own change: the directory is opened before.
  Result<void> with_contents(int fd, const std::string& shown, int depth) {
    struct stat info{};
    if (::fstat(fd, &info) != 0) return file_error(errno, shown);
    constexpr int kFlags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK;
    UniqueFd open;
    if (S_ISDIR(info.st_mode)) open.reset(::openat(fd, ".", kFlags));
    CAY_CHECK(apply(fd, info, shown));
    if (!S_ISDIR(info.st_mode)) return {};
    if (!open) open.reset(::openat(fd, ".", kFlags));
    if (!open) return file_error(errno, shown);
    return below(open.get(), shown, depth + 1);
  }
};

Result<void> change_path(FileChannel& channel, const wire::FileOp& op, const Change& change) {
  std::string shown = shown_path(op, op.path);
  while (shown.size() > 1 && shown.ends_with('/')) shown.pop_back();
  CAY_TRY(const UniqueFd target,
          open_path(AT_FDCWD, op.path.c_str(), O_PATH | (op.follow ? 0 : O_NOFOLLOW), shown));
  TreeChange work{channel, change, {}};
  if (op.recursive) {
    CAY_CHECK(work.with_contents(target.get(), shown, 0));
  } else {
    struct stat info{};
    if (::fstat(target.get(), &info) != 0) return file_error(errno, shown);
    CAY_CHECK(work.apply(target.get(), info, shown));
  }
  channel.send(wire::Type::kFileDone, work.done);
  channel.ok();
  return {};
}

}  // namespace

Result<void> change_mode(FileChannel& channel, const wire::FileOp& op) {
  const auto mode = static_cast<mode_t>(op.mode & 07777);
  return change_path(channel, op, [mode](int fd, const struct stat& info) {
    if (S_ISLNK(info.st_mode)) return 0;  // has no mode
    return ::chmod(proc_path(fd).c_str(), mode) == 0 ? 0 : errno;
  });
}

Result<void> change_owner(FileChannel& channel, const wire::FileOp& op) {
  CAY_TRY(const Owner owner, owner_of(op.owner));
  return change_path(channel, op, [owner](int fd, const struct stat&) {
    return ::fchownat(fd, "", owner.uid, owner.gid, AT_EMPTY_PATH) == 0 ? 0 : errno;
  });
}

}  // namespace cay::keeper
