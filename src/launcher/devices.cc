#include "launcher/devices.h"

#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <cerrno>
#include <string>

#include "os/file.h"
#include "os/mount.h"

namespace cay::launcher {

Result<UniqueFd> make_devices() {
  CAY_TRY(
      UniqueFd mount,
      os::new_mount(
          "tmpfs", {{"source", "devices"}, {"size", "4096"}, {"nr_inodes", "16"}, {"mode", "0755"}},
          MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC));
  CAY_TRY(const UniqueFd root,
          os::open_dir(mount.get(), "."));  // a mount's own descriptor makes no files
  for (const Device& device : kDevices) {
    // By a second call, whatever our umask is.
    if (::mknodat(root.get(), device.name, S_IFCHR | 0666, makedev(device.major, device.minor)) !=
            0 ||
        ::fchmodat(root.get(), device.name, 0666, 0) != 0) {
      return Error::from_errno(errno, std::string("make device node ") + device.name +
                                          " (the launcher needs CAP_MKNOD)");
    }
  }
  CAY_TRY(const UniqueFd closed, os::make_file(root.get(), kClosedFile, "", 0));
  return mount;
}

}  // namespace cay::launcher
