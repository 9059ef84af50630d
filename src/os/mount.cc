#include "os/mount.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

namespace cay::os {
namespace {

// Returns the messages of the file system's own log ("e btrfs: ..."), for the error.
std::string kernel_words(int fs_fd) {
  char buffer[512];
  std::string words;
  for (int line = 0; line < 8; ++line) {
    const ssize_t n = ::read(fs_fd, buffer, sizeof buffer);
    if (n <= 0) break;
    std::string_view text(buffer, static_cast<std::size_t>(n));
    while (!text.empty() && text.back() == '\n') text.remove_suffix(1);
    words += words.empty() ? " (" : "; ";
    words += text;
  }
  if (!words.empty()) words += ")";
  return words;
}

}  // namespace

Result<UniqueFd> new_mount(const char* type, std::initializer_list<MountOption> options,
                           std::uint64_t attributes) {
  UniqueFd fs(::fsopen(type, FSOPEN_CLOEXEC));
  if (!fs) return Error::from_errno(errno, std::string("open file system type ") + type);
  const auto failed = [&](const std::string& what) {
    const int err = errno;
    return Error::from_errno(err, what + kernel_words(fs.get()));
  };
  for (const auto& [name, value] : options) {
    const bool flag = value.empty();
    if (::fsconfig(fs.get(), flag ? FSCONFIG_SET_FLAG : FSCONFIG_SET_STRING, name,
                   flag ? nullptr : value.c_str(), 0) != 0) {
      return failed(std::string("set ") + name + " of " + type);
    }
  }
  if (::fsconfig(fs.get(), FSCONFIG_CMD_CREATE, nullptr, nullptr, 0) != 0) {
    return failed(std::string("create ") + type);
  }
  UniqueFd mount(::fsmount(fs.get(), FSMOUNT_CLOEXEC, static_cast<unsigned>(attributes)));
  if (!mount) return failed(std::string("mount ") + type);
  return mount;
}

Result<UniqueFd> clone_mount(int dir, const char* path) {
  const unsigned flags = OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_SYMLINK_NOFOLLOW |
                         AT_NO_AUTOMOUNT | (*path == '\0' ? unsigned{AT_EMPTY_PATH} : 0U);
  UniqueFd mount(::open_tree(dir, path, flags));
  if (!mount) return Error::from_errno(errno, std::string("copy mount ") + path);
  return mount;
}

Result<void> set_mount_attributes(int mount_fd, std::uint64_t attributes, int userns_fd) {
  mount_attr attr{};
  attr.attr_set = attributes;
  if (userns_fd >= 0) {
    attr.attr_set |= MOUNT_ATTR_IDMAP;
    attr.userns_fd = static_cast<std::uint64_t>(userns_fd);
  }
  if (::mount_setattr(mount_fd, "", AT_EMPTY_PATH, &attr, sizeof attr) != 0) {
    return Error::from_errno(errno,
                             userns_fd >= 0 ? "map the ids of a mount" : "set mount attributes");
  }
  return {};
}

Result<void> move_mount_tree(int dir, const char* path, int point) {
  if (::move_mount(dir, path, point, "", MOVE_MOUNT_T_EMPTY_PATH) != 0)
    return Error::from_errno(errno, std::string("move mount ") + path);
  return {};
}

Result<void> attach_mount(int mount_fd, int dir, const char* path) {
  const unsigned flags =
      MOVE_MOUNT_F_EMPTY_PATH | (*path == '\0' ? unsigned{MOVE_MOUNT_T_EMPTY_PATH} : 0U);
  if (::move_mount(mount_fd, "", dir, path, flags) != 0) {
    return Error::from_errno(
        errno, std::string("attach mount at ") + (*path == '\0' ? "descriptor" : path));
  }
  return {};
}

}  // namespace cay::os
