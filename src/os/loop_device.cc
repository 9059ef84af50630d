#include "os/loop_device.h"

#include <fcntl.h>
#include <linux/loop.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdint>

#include "os/file.h"

namespace cay::os {
namespace {

constexpr int kAttempts = 64;  // another process may take the free device between our two calls

// The device's own word on which file it serves (device and inode), if it serves one.
bool serves(int loop_fd, const struct stat& file) {
  loop_info64 info{};
  return ::ioctl(loop_fd, LOOP_GET_STATUS64, &info) == 0 && info.lo_device == file.st_dev &&
         info.lo_inode == file.st_ino;
}

}  // namespace

Result<LoopDevice> attach_loop(int backing_fd) {
  struct stat file{};
  if (::fstat(backing_fd, &file) != 0) return Error::from_errno(errno, "stat the pool file");
  CAY_TRY(UniqueFd block, open_dir(AT_FDCWD, "/sys/block"));
  CAY_TRY(const auto names, list_dir(block.get()));
  for (const std::string& name : names) {
    if (!name.starts_with("loop")) continue;
    if (::faccessat(block.get(), (name + "/loop/backing_file").c_str(), F_OK, 0) != 0) continue;
    LoopDevice device{"/dev/" + name,
                      UniqueFd(::open(("/dev/" + name).c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW))};
    if (device.fd && serves(device.fd.get(), file)) return device;
  }
  const UniqueFd control(::open("/dev/loop-control", O_RDWR | O_CLOEXEC));
  if (!control) return Error::from_errno(errno, "open /dev/loop-control");
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    const int number = ::ioctl(control.get(), LOOP_CTL_GET_FREE);
    if (number < 0) return Error::from_errno(errno, "find a free loop device");
    LoopDevice device;
    device.path = "/dev/loop" + std::to_string(number);
    device.fd = UniqueFd(::open(device.path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW));
    if (!device.fd) return Error::from_errno(errno, "open " + device.path);
    loop_config config{};
    config.fd = static_cast<std::uint32_t>(backing_fd);
    config.info.lo_flags = LO_FLAGS_AUTOCLEAR;
    if (::ioctl(device.fd.get(), LOOP_CONFIGURE, &config) == 0) return device;
    if (errno != EBUSY) return Error::from_errno(errno, "attach " + device.path);
  }
  return Error::from_errno(EBUSY, "find a free loop device");
}

}  // namespace cay::os
