#include "launcher/guest_mounts.h"

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <set>
#include <utility>

#include "launcher/init_process.h"
#include "os/file.h"
#include "os/mount.h"

namespace cay::launcher {
namespace {

Error unfit(std::string_view words, const std::string& path, const Error& why) {
  return Error{Code::kInvalidArgument, "", std::string(words) + path + ": " + why.message,
               why.os_errno};
}

// Takes the first part off an absolute path.
std::string take_part(std::string_view& path) {
  path.remove_prefix(1);
  std::string name(path.substr(0, path.find('/')));
  path.remove_prefix(name.size());
  return name;
}

// Lays a copy of the mount that `point` is in over it.
Result<void> mount_on_itself(int point, std::uint64_t attributes) {
  CAY_TRY(const UniqueFd own, os::clone_mount(point, ""));
  if (attributes != 0) {
    CAY_CHECK(os::set_mount_attributes(own.get(), attributes));
  }
  return os::attach_mount(own.get(), point, "");
}

}  // namespace

Result<UniqueFd> put_tmpfs(int point, std::uint64_t bytes, const char* mode,
                           std::uint64_t attributes) {
  // An inode costs about a kilobyte of kernel memory, which the memory group pays for.
  const std::uint64_t inodes = std::clamp<std::uint64_t>(bytes / 4096, 1024, 1 << 20);
  CAY_TRY(UniqueFd mount, os::new_mount("tmpfs",
                                        {{"source", "tmpfs"},
                                         {"size", std::to_string(bytes)},
                                         {"nr_inodes", std::to_string(inodes)},
                                         {"mode", mode}},
                                        attributes));
  CAY_CHECK(os::attach_mount(mount.get(), point, ""));
  return mount;
}

Result<void> GuestMounts::mount(std::vector<UniqueFd> stored) {
  const std::vector<Wanted> all = plan();
  const bool has_rules = !plan_.read_only_paths.empty() || !plan_.hidden_paths.empty();
  // Below a read-only path no mount point can be made any more.
  for (const Wanted& one : all) {
    if (!has_rules) break;
    CAY_CHECK(prepare(one));
  }
  for (const Wanted& one : all) {
    CAY_CHECK(put(one, stored));
  }
  return {};
}

// In the order of their paths: a parent first.
std::vector<GuestMounts::Wanted> GuestMounts::plan() const {
  std::vector<Wanted> all;
  for (std::size_t i = 0; i < plan_.tmpfs.size(); ++i)
    all.push_back({plan_.tmpfs[i].path, Kind::kInMemory, i});
  for (std::size_t i = 0; i < plan_.mounts.size(); ++i)
    all.push_back({plan_.mounts[i].path, Kind::kStored, i});
  for (const std::string& path : plan_.read_only_paths) all.push_back({path, Kind::kReadOnly});
  for (const std::string& path : plan_.hidden_paths) all.push_back({path, Kind::kHidden});
  std::set<std::string> taken, above;
  for (const Wanted& one : all) {
    taken.insert(one.path);
    if (one.kind != Kind::kReadOnly && one.kind != Kind::kHidden) continue;
    for (std::size_t at = one.path.rfind('/'); at > 0; at = one.path.rfind('/', at - 1))
      above.insert(one.path.substr(0, at));
  }
  for (const std::string& path : above) {
    if (!taken.contains(path)) all.push_back({path, Kind::kPinned});
  }
  std::sort(all.begin(), all.end(),
            [](const Wanted& a, const Wanted& b) { return a.path < b.path; });
  return all;
}

Result<void> GuestMounts::prepare(const Wanted& one) {
  switch (one.kind) {
    case Kind::kPinned: return {};
    case Kind::kInMemory:
    case Kind::kStored: {
      auto point = open_made(one.path);
      const auto words = one.kind == Kind::kInMemory ? kNoTmpfs : kNoMount;
      return point ? Result<void>() : unfit(words, one.path, point.error());
    }
    case Kind::kReadOnly:
    case Kind::kHidden: break;
  }
  auto there = find(one.path);
  if (there) return {};
  const bool missing = there.error().os_errno == ENOENT;
  if (missing && one.kind == Kind::kReadOnly) return unfit(kNoSuchPath, one.path, there.error());
  if (missing) there = open_made(one.path);
  return there ? Result<void>() : unfit(kNoPathRule, one.path, there.error());
}

Result<void> GuestMounts::put(const Wanted& one, std::vector<UniqueFd>& stored) {
  if (one.kind == Kind::kStored) {
    auto point = open_made(one.path);
    auto done = point ? os::attach_mount(stored[one.index].get(), point->get(), "")
                      : Result<void>(std::move(point).error());
    return done ? Result<void>() : unfit(kNoMount, one.path, done.error());
  }
  if (one.kind == Kind::kInMemory) {
    constexpr std::uint64_t kPlain = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV;
    auto point = open_made(one.path);
    if (!point) return unfit(kNoTmpfs, one.path, point.error());
    const std::uint64_t wanted = plan_.tmpfs[one.index].bytes;
    const std::uint64_t bytes = wanted != 0 ? wanted : plan_.memory_bytes / 2;
    CAY_TRY(const UniqueFd mounted, put_tmpfs(point->get(), bytes, "1777", kPlain));
    return {};
  }
  auto done = put_rule(one);
  return done ? Result<void>() : unfit(kNoPathRule, one.path, done.error());
}

Result<void> GuestMounts::put_rule(const Wanted& one) {
  CAY_TRY(const UniqueFd point, find(one.path));
  if (one.kind == Kind::kHidden) return covers_.hide(point.get());
  return mount_on_itself(point.get(), one.kind == Kind::kReadOnly ? MOUNT_ATTR_RDONLY : 0);
}

// Part by part and through no link: the host's mounts are still in reach, and the guest may have
// left links on its disk. A link of the snapshot is an error; one that the guest made since gives
// way.
Result<UniqueFd> GuestMounts::open_made(std::string_view path) {
  CAY_TRY(UniqueFd at, os::open_dir(root_, "."));
  while (!path.empty()) {
    const std::string name = take_part(path);
    if (::mkdirat(at.get(), name.c_str(), 0755) != 0 && errno != EEXIST)
      return Error::from_errno(errno, "make a directory");
    UniqueFd next(::openat(at.get(), name.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
    if (!next && !plan_.fresh_disk && ::unlinkat(at.get(), name.c_str(), 0) == 0) {
      if (::mkdirat(at.get(), name.c_str(), 0755) != 0)
        return Error::from_errno(errno, "make a directory");
      CAY_TRY(next, os::open_dir(at.get(), name));
    }
    if (!next) return Error::from_errno(errno, "'" + name + "' must be a directory, not a link");
    at = std::move(next);
  }
  return at;
}

Result<UniqueFd> GuestMounts::find(std::string_view path) {
  CAY_TRY(UniqueFd at, os::open_dir(root_, "."));
  while (!path.empty()) {
    const std::string name = take_part(path);
    UniqueFd next(::openat(at.get(), name.c_str(), O_PATH | O_CLOEXEC | O_NOFOLLOW));
    if (!next) return Error::from_errno(errno, "'" + name + "'");
    struct stat info{};
    if (::fstat(next.get(), &info) != 0) return Error::from_errno(errno, "look at '" + name + "'");
    if (S_ISLNK(info.st_mode)) {
      return Error{Code::kInvalidArgument, "",
                   "'" + name + "' is a symbolic link: name the path that it leads to", ELOOP};
    }
    at = std::move(next);
  }
  return at;
}

}  // namespace cay::launcher
