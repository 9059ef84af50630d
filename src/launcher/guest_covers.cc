#include "launcher/guest_covers.h"

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>

#include "launcher/devices.h"
#include "launcher/guest_groups.h"
#include "launcher/guest_trees.h"
#include "os/file.h"
#include "os/mount.h"

namespace cay::launcher {
namespace {

constexpr std::uint64_t kReadOnlyData =
    MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC;

// Objects in the directory of covers. Masks are copies of the first two.
constexpr const char* kVoid = "void";
constexpr const char* kEmpty = "empty";
constexpr const char* kBootId = "boot_id";
constexpr const char* kGroupFiles = "groups";

bool is_absent(const Error& error) { return error.os_errno == ENOENT || error.os_errno == ENOTDIR; }

}  // namespace

Result<void> GuestCovers::make(int staging, const TreePlan& plan) {
  staging_ = staging;
  constexpr const char* kCovers = "covers";
  if (::mkdirat(staging, kCovers, 0755) != 0) return Error::from_errno(errno, "make covers");
  CAY_TRY(const UniqueFd dir, os::open_dir(staging, kCovers));
  if (::mkdirat(dir.get(), kVoid, 0555) != 0) return Error::from_errno(errno, "make the void");
  CAY_CHECK(os::make_file(dir.get(), kEmpty, "", 0444));
  // A boot id of the sandbox's own: the host's would show which sandboxes share a host, and when it
  // restarts.
  CAY_TRY(const std::string id, os::read_file(AT_FDCWD, "/proc/sys/kernel/random/uuid", 64));
  CAY_CHECK(os::make_file(dir.get(), kBootId, id, 0444));
  CAY_CHECK(make_machine_files(dir.get(), plan));
  CAY_CHECK(make_read_only(staging, kCovers));
  // Copies of this mount are read-only too.
  CAY_TRY(covers_, os::open_dir(staging, kCovers));
  return {};
}

std::vector<int> GuestCovers::descriptors() const {
  std::vector<int> all{covers_.get(), meminfo_.get(), stat_.get()};
  if (memory_current_) all.push_back(memory_current_.get());
  return all;
}

void GuestCovers::adopt(int staging, std::vector<UniqueFd> descriptors) {
  staging_ = staging;
  UniqueFd* const places[] = {&covers_, &meminfo_, &stat_, &memory_current_};
  for (std::size_t i = 0; i < descriptors.size() && i < std::size(places); ++i)
    *places[i] = std::move(descriptors[i]);
}

// Files that show the sandbox's limits instead of the host's size. The keeper writes meminfo, stat
// and memory.current.
Result<void> GuestCovers::make_machine_files(int dir, const TreePlan& plan) {
  const auto make = [dir](const char* name, std::string_view text) {
    return os::make_file(dir, name, text, 0444);
  };
  CAY_TRY(meminfo_, make("meminfo", ""));
  CAY_TRY(stat_, make("stat", ""));
  if (!plan.cpus.cpuinfo.empty()) {
    CAY_TRY(const UniqueFd cpuinfo, make("cpuinfo", plan.cpus.cpuinfo));
  }
  if (plan.groups.unified) return {};
  CAY_TRY(const UniqueFd cgroups, make("cgroups", kControllers));
  CAY_TRY(memory_current_, make_group_files(plan.groups, dir, kGroupFiles));
  return {};
}

Result<void> GuestCovers::show_file(int tree, const char* name) {
  auto file = os::clone_mount(covers_.get(), name);
  if (!file) return is_absent(file.error()) ? Result<void>() : std::move(file).error();
  return os::attach_mount(file->get(), tree, name);
}

Result<void> GuestCovers::show_groups(int tree, const char* path) {
  if (!memory_current_) return {};
  CAY_TRY(const UniqueFd files, os::clone_mount(covers_.get(), kGroupFiles));
  return os::attach_mount(files.get(), tree, path);
}

Result<void> GuestCovers::make_read_only(int tree, const char* path) {
  auto copy = os::clone_mount(tree, path);
  if (!copy) return is_absent(copy.error()) ? Result<void>() : std::move(copy).error();
  CAY_CHECK(os::set_mount_attributes(copy->get(), kReadOnlyData));
  return os::attach_mount(copy->get(), tree, path);
}

Result<void> GuestCovers::mask(int tree, const char* path) {
  struct stat info{};
  if (::fstatat(tree, path, &info, AT_SYMLINK_NOFOLLOW) != 0) {
    return errno == ENOENT ? Result<void>() : Error::from_errno(errno, "look at what is masked");
  }
  CAY_TRY(const UniqueFd cover,
          os::clone_mount(covers_.get(), S_ISDIR(info.st_mode) ? kVoid : kEmpty));
  return os::attach_mount(cover.get(), tree, path);
}

Result<void> GuestCovers::hide(int point) {
  struct stat info{};
  if (::fstat(point, &info) != 0) return Error::from_errno(errno, "look at what is hidden");
  const std::string closed = std::string(kDeviceNodes) + "/" + kClosedFile;
  auto cover = S_ISDIR(info.st_mode) ? os::clone_mount(covers_.get(), kVoid)
                                     : os::clone_mount(staging_, closed.c_str());
  if (!cover) return std::move(cover).error();
  CAY_CHECK(os::set_mount_attributes(cover->get(), kReadOnlyData));
  return os::attach_mount(cover->get(), point, "");
}

// After /proc/sys was made read-only: it lies over that.
Result<void> GuestCovers::cover_boot_id(int proc) {
  CAY_TRY(const UniqueFd own, os::clone_mount(covers_.get(), kBootId));
  return os::attach_mount(own.get(), proc, "sys/kernel/random/boot_id");
}

}  // namespace cay::launcher
