// stat, list, mkdir, remove, rename.
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>  // renameat2
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>

#include "keeper/file_details.h"
#include "keeper/file_error.h"
#include "keeper/file_names.h"
#include "keeper/file_removal.h"
#include "keeper/file_paths.h"
#include "keeper/file_task.h"

namespace cay::keeper {
namespace {

// Each level holds a descriptor and a frame of the stack, and trees may be nested without end. A
// directory that lies deeper is moved up into the root of the tree that is removed, and its turn
// comes later.
constexpr int kMostListDepth = 256;
constexpr std::uint32_t kMostListLevels = 64;

struct Removal {
  FileChannel& channel;
  int top = -1;        // the root of the tree that goes
  unsigned moved = 0;  // ever
  bool again = false;  // something was moved up in this pass

  Result<void> move_up(int dir, const std::string& name, const std::string& shown) {
    for (;;) {
      const std::string here = ".moved-up-" + std::to_string(moved++);
      again = true;
      if (::renameat2(dir, name.c_str(), top, here.c_str(), RENAME_NOREPLACE) == 0 ||
          errno == ENOENT)
        return {};
      if (errno != EEXIST) return file_error(errno, shown);
    }
  }

  Result<void> remove_directory(int dir, const std::string& name, const std::string& shown,
                                int depth) {
    if (::unlinkat(dir, name.c_str(), AT_REMOVEDIR) == 0 || errno == ENOENT) return {};
    if (depth > kMostListDepth) return move_up(dir, name, shown);
    UniqueFd sub(
        ::openat(dir, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK));
    if (!sub) return file_error(errno, shown);
    CAY_CHECK(remove_contents(sub.get(), shown, depth));
    sub.reset();
    if (::unlinkat(dir, name.c_str(), AT_REMOVEDIR) != 0 && errno != ENOENT)
      return file_error(errno, shown);
    return {};
  }

  Result<void> remove_contents(int dir, const std::string& shown, int depth) {
    channel.heartbeat();
    CAY_TRY(auto entries, names_in(dir, shown));
    for (const std::string& entry : entries) {
      if (::unlinkat(dir, entry.c_str(), 0) == 0 || errno == ENOENT) continue;
      const int err = errno;
      struct stat info{};
      const bool directory =
          ::fstatat(dir, entry.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(info.st_mode);
      if (!directory) return file_error(err, shown + "/" + entry);
      CAY_CHECK(remove_directory(
          dir, entry, depth < kMostListDepth ? shown + "/" + entry : shown + "/…", depth + 1));
    }
    return {};
  }
};

// The last part of a path with what the caller wrote behind it: "d/" is a directory or an error.
// "/" itself stays what it is.
std::string name_with_slash(const std::string& path) {
  const std::string base = base_of(path);
  if (base.empty()) return path;
  return path.ends_with('/') ? base + "/" : base;
}

}  // namespace

Result<void> empty_directory(FileChannel& channel, int dir, const std::string& shown) {
  Removal removal{channel, dir};
  do {
    removal.again = false;
    CAY_CHECK(removal.remove_contents(dir, shown, 0));
  } while (removal.again);
  return {};
}

Result<void> remove_tree(FileChannel& channel, int dir, const std::string& name,
                         const std::string& shown) {
  UniqueFd top(
      ::openat(dir, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK));
  if (!top) return file_error(errno, shown);
  CAY_CHECK(empty_directory(channel, top.get(), shown));
  top.reset();
  if (::unlinkat(dir, name.c_str(), AT_REMOVEDIR) != 0 && errno != ENOENT)
    return file_error(errno, shown);
  return {};
}

Result<std::vector<std::string>> names_in(int dir, const std::string& shown) {
  std::vector<std::string> names;
  const int again = ::openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (again < 0) return file_error(errno, shown);
  const std::unique_ptr<DIR, int (*)(DIR*)> list(::fdopendir(again), &::closedir);
  if (!list) {
    ::close(again);
    return file_error(errno, shown);
  }
  for (;;) {
    errno = 0;
    const dirent* entry = ::readdir(list.get());
    if (entry == nullptr) {
      if (errno != 0) return file_error(errno, shown);
      break;
    }
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

Result<void> stat_file(FileChannel& channel, const wire::FileOp& op) {
  struct stat info{};
  CAY_CHECK(stat_path(AT_FDCWD, op.path.c_str(), op.follow, info, shown_path(op, op.path)));
  auto facts = info_of(shown_path(op, op.path), info, AT_FDCWD, op.path.c_str());
  FileDetails details(op);
  CAY_CHECK(details.add(facts, AT_FDCWD, op.path.c_str(), op.follow));
  channel.send(wire::Type::kFileInfo, facts);
  channel.ok();
  return {};
}

namespace {

struct Listing {
  FileChannel& channel;
  FileDetails& details;
  int depth;  // levels

  // `level`: from 1.
  Result<void> send(int dir, const std::string& prefix, int level) {
    CAY_TRY(const auto names, names_in(dir, prefix));
    for (const std::string& name : names) {
      channel.heartbeat();
      struct stat info{};
      if (::fstatat(dir, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0)
        continue;  // gone meanwhile
      auto facts = info_of(prefix + name, info, dir, name.c_str());
      const auto added = details.add(facts, dir, name.c_str(), false);
      if (!added) {
        if (added.error().os_errno == ENOENT) continue;
        return added.error();
      }
      channel.hold(wire::Type::kFileInfo, wire::encode(facts));
      if (!S_ISDIR(info.st_mode) || level >= depth) continue;
      const auto sub =
          open_path(dir, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK, {});
      // A directory that this user may not read is listed without its content.
      if (sub) {
        CAY_CHECK(send(sub->get(), prefix + name + "/", level + 1));
      }
    }
    return {};
  }
};

}  // namespace

Result<void> list_directory(FileChannel& channel, const wire::FileOp& op) {
  const std::string shown = shown_path(op, op.path);
  CAY_TRY(const UniqueFd dir,
          open_path(AT_FDCWD, op.path.c_str(), O_RDONLY | O_DIRECTORY | O_NONBLOCK, shown));
  FileDetails details(op);
  const auto depth = static_cast<int>(std::clamp<std::uint32_t>(op.depth, 1, kMostListLevels));
  Listing listing{channel, details, depth};
  CAY_CHECK(listing.send(dir.get(), shown.ends_with('/') ? shown : shown + "/", 1));
  channel.send(wire::Type::kEof, wire::Eof{});
  return {};
}

Result<void> make_directory(FileChannel& channel, const wire::FileOp& op) {
  CAY_CHECK(make_directories(op.path, op.mode != 0 ? static_cast<mode_t>(op.mode & 07777) : 0755));
  channel.ok();
  return {};
}

Result<void> remove_path(FileChannel& channel, const wire::FileOp& op) {
  const std::string shown = shown_path(op, op.path);
  const std::string name = base_of(op.path);
  if (name.empty() || name == "." || name == "..") {
    return Error{Code::kInvalidArgument, "bad_path",
                 shown + ": name what to remove by its own name", 0};
  }
  struct stat info{};
  CAY_TRY(const UniqueFd parent,
          open_path(AT_FDCWD, parent_of(op.path).c_str(), O_PATH | O_DIRECTORY, shown));
  if (::fstatat(parent.get(), name_with_slash(op.path).c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0)
    return file_error(errno, shown);
  if (!S_ISDIR(info.st_mode)) {
    if (::unlinkat(parent.get(), name_with_slash(op.path).c_str(), 0) != 0)
      return file_error(errno, shown);
  } else if (!op.recursive) {
    if (::unlinkat(parent.get(), name_with_slash(op.path).c_str(), AT_REMOVEDIR) != 0)
      return file_error(errno, shown);
  } else {
    CAY_CHECK(remove_tree(channel, parent.get(), name, shown));
  }
  channel.ok();
  return {};
}

Result<void> rename_path(FileChannel& channel, const wire::FileOp& op) {
  const std::string shown = shown_path(op, op.path) + " to " + shown_path(op, op.to);
  CAY_TRY(const UniqueFd from,
          open_path(AT_FDCWD, parent_of(op.path).c_str(), O_PATH | O_DIRECTORY, shown));
  CAY_TRY(const UniqueFd to,
          open_path(AT_FDCWD, parent_of(op.to).c_str(), O_PATH | O_DIRECTORY, shown));
  if (::renameat(from.get(), name_with_slash(op.path).c_str(), to.get(),
                 name_with_slash(op.to).c_str()) != 0)
    return file_error(errno, shown);
  channel.ok();
  return {};
}

}  // namespace cay::keeper
