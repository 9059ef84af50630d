// The app starts the image process as a user of its own. It keeps one alive beside a daemon, as it
// does for the gate (gate_process.h). The image process holds its settings and the directory
// DATA/images.
#pragma once
#include <sys/types.h>

#include <string>

#include "base/result.h"
#include "base/unique_fd.h"
#include "image/image_process.h"
#include "role.h"

namespace cay::app {

// The daemon's group may read its lock, and so its identity.
inline constexpr Role kImages{.word = "images",
                              .directory = "images",
                              .user = "cay-images",
                              .uid = 0x70000004 /* beside the broker's */,
                              .socket = image::kSocket,
                              .lock_mode = 0640,
                              .worker = "cay-images-w",
                              .watcher = "cay-watch-imgs"};

struct ImagesOptions {
  image::Settings settings;  // images_config.h
  DaemonUser user;           // who it becomes
  gid_t daemon_gid = 0;      // may connect
};

// Returns its user. For a data directory in use it is the owner of DATA/images, else role_user().
Result<DaemonUser> images_user_of(const std::string& data);

// Replaces this process by the image process. Returns only an error.
Error become_images(const ImagesOptions& options, image::Life life);

// Keeps one alive in the process that become_images() made. Returns the exit code.
int run_images_guardian(image::Life life);

// role_watch.h.
Result<UniqueFd> watch_images(const ImagesOptions& options);

}  // namespace cay::app
