#include "broker_process.h"

#include <fcntl.h>

#include <utility>

#include "model/sealed_box.h"
#include "os/file.h"
#include "role_guardian.h"
#include "role_process.h"
#include "role_watch.h"
#include "upstream_proxy.h"
#include "wire/tlv.h"

namespace cay::app {
namespace {

constexpr mode_t kDirectoryMode = 0711;  // others reach its sockets, and see nothing

// It is written to a file, so it has no passphrase, and only a digest of the proxy's password.
std::string identity_of(vault::Settings settings) {
  for (std::string* one : {&settings.passphrase, &settings.previous_passphrase})
    *one = one->empty() ? "" : "set";
  settings.proxy = without_password(std::move(settings.proxy));
  return std::string(CAY_VERSION) + "\n" + wire::encode(settings);
}

}  // namespace

Result<DaemonUser> broker_user_of(const std::string& data) {
  if (auto owner = role_owner(kBroker, data)) return *std::move(owner);
  return role_user(kBroker, "");
}

Error become_broker(const BrokerOptions& options, vault::Life life) {
  const auto go = [&]() -> Result<void> {
    CAY_TRY(const UniqueFd data, os::open_dir(AT_FDCWD, options.settings.data));
    CAY_TRY(const UniqueFd directory,
            os::ensure_dir(data.get(), kBroker.directory, options.user.uid, options.user.gid,
                           kDirectoryMode));
    CAY_TRY(const UniqueFd settings,
            settings_file("cay-broker-settings", wire::encode(options.settings)));
    return exec_role({"cay", "broker", "--data", options.settings.data, "--serve",
                      life == vault::Life::kAlways ? "always" : "while-needed"},
                     {settings.get(), directory.get()}, options.user);
  };
  return go().error();
}

int run_broker_guardian(vault::Life life) {
  begin_guardian(kBroker, 077);
  const UniqueFd lock = lock_role(kBroker);
  if (!lock) return refuse_to_serve(kBroker, "another broker serves this data directory");
  auto bytes = take_settings();
  const auto settings = bytes ? wire::decode<vault::Settings>(*bytes) : std::nullopt;
  if (bytes) wipe(*bytes);
  if (!settings) return refuse_to_serve(kBroker, "its settings cannot be read");
  tell_identity(lock, identity_of(*settings));
  ::fcntl(kRoleDirectory, F_SETFD, FD_CLOEXEC);
  return stand_guard(kBroker, {.serve = [&](UniqueFd) {
                       return vault::run_broker({*settings, kRoleDirectory, life});
                     }});
}

Result<UniqueFd> watch_broker(const BrokerOptions& options) {
  return watch_role(
      {.role = kBroker,
       .data = options.settings.data,
       .identity = identity_of(options.settings),
       .become = [&options] { return become_broker(options, vault::Life::kWhileNeeded); }});
}

}  // namespace cay::app
