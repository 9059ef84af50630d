#include "images_process.h"

#include <fcntl.h>

#include <utility>

#include "base/sha256.h"
#include "os/file.h"
#include "role_guardian.h"
#include "role_process.h"
#include "role_watch.h"
#include "wire/tlv.h"

namespace cay::app {
namespace {

// Files that are made in it are the daemon's group's. A unit's RestrictSUIDSGID= would refuse the
// bit where it is not needed.
mode_t images_mode(const ImagesOptions& options) {
  return options.user.gid == options.daemon_gid ? 0750 : 02750;
}

// Others may read it: it has a digest in the place of the proxy's password.
std::string images_identity(image::Settings settings) {
  std::string& secret = settings.proxy.authorization;
  if (!secret.empty()) secret = sha256_hex(secret);
  return std::string(CAY_VERSION) + "\n" + wire::encode(settings);
}

}  // namespace

Result<DaemonUser> images_user_of(const std::string& data) {
  if (auto owner = role_owner(kImages, data)) return *std::move(owner);
  return role_user(kImages, "");
}

Error become_images(const ImagesOptions& options, image::Life life) {
  const auto go = [&]() -> Result<void> {
    CAY_TRY(const UniqueFd data, os::open_dir(AT_FDCWD, options.settings.data));
    CAY_TRY(const UniqueFd directory,
            os::ensure_dir(data.get(), kImages.directory, options.user.uid, options.daemon_gid,
                           images_mode(options)));
    CAY_TRY(const UniqueFd settings,
            settings_file("cay-images-settings", wire::encode(options.settings)));
    return exec_role({"cay", "images", "--data", options.settings.data, "--serve",
                      life == image::Life::kAlways ? "always" : "while-needed"},
                     {settings.get(), directory.get()}, options.user);
  };
  return go().error();
}

int run_images_guardian(image::Life life) {
  begin_guardian(kImages, 027);
  const UniqueFd lock = lock_role(kImages);
  if (!lock) return refuse_to_serve(kImages, "another one serves this data directory");
  const auto bytes = take_settings();
  const auto settings = bytes ? wire::decode<image::Settings>(*bytes) : std::nullopt;
  if (!settings) return refuse_to_serve(kImages, "its settings cannot be read");
  tell_identity(lock, images_identity(*settings));
  ::fcntl(kRoleDirectory, F_SETFD, FD_CLOEXEC);
  return stand_guard(kImages, {.serve = [&](UniqueFd) {
                       return image::run_images({*settings, kRoleDirectory, life});
                     }});
}

Result<UniqueFd> watch_images(const ImagesOptions& options) {
  return watch_role(
      {.role = kImages,
       .data = options.settings.data,
       .identity = images_identity(options.settings),
       .become = [&options] { return become_images(options, image::Life::kWhileNeeded); }});
}

}  // namespace cay::app
