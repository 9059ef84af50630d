// Loop devices: a file as a block device.
#pragma once
#include <string>

#include "base/result.h"
#include "base/unique_fd.h"

namespace cay::os {

struct LoopDevice {
  std::string path;  // "/dev/loop3"
  UniqueFd fd;       // keep it until the device is mounted: it clears itself at the last close
};

// The device that already serves the file `backing_fd`, or a new one that clears itself when its
// last user goes. Two devices over one file would corrupt it, so the existing one is always found
// first.
Result<LoopDevice> attach_loop(int backing_fd);

}  // namespace cay::os
