#include "gate_process.h"

#include <fcntl.h>

#include <utility>

#include "gate/keeper_dialer.h"
#include "launcher/gate_directory.h"
#include "launcher_process.h"
#include "os/file.h"
#include "role_guardian.h"
#include "role_process.h"
#include "role_watch.h"
#include "upstream_proxy.h"
#include "wire/tlv.h"

namespace cay::app {
namespace {

constexpr int kDirectory = kRoleDirectory;
constexpr int kRules = kRoleDirectory + 1;

}  // namespace

Result<DaemonUser> gate_user_of(const std::string& data) {
  auto owner = role_owner(kGate, data);
  if (owner && (launcher_answers(data) || role_pid(kGate, data))) return *std::move(owner);
  return role_user(kGate, "");
}

std::string gate_identity(const gate::Settings& settings) {
  gate::Settings told = settings;
  told.proxy = without_password(std::move(told.proxy));
  return std::string(CAY_VERSION) + "\n" + wire::encode(told);
}

Error become_gate(const GateOptions& options, gate::Life life) {
  const auto go = [&]() -> Result<void> {
    CAY_TRY(const UniqueFd data, os::open_dir(AT_FDCWD, options.settings.data));
    CAY_TRY(const UniqueFd directory,
            launcher::open_gate_directory(data.get(), options.user.uid, options.daemon_gid));
    CAY_TRY(const UniqueFd rules, launcher::open_rules_directory(data.get(), options.user.gid));
    CAY_TRY(const UniqueFd settings,
            settings_file("cay-gate-settings", wire::encode(options.settings)));
    return exec_role({"cay", "gate", "--data", options.settings.data, "--serve",
                      life == gate::Life::kAlways ? "always" : "while-needed"},
                     {settings.get(), directory.get(), rules.get()}, options.user);
  };
  return go().error();
}

int run_gate_guardian(gate::Life life) {
  begin_guardian(kGate, 027);
  const UniqueFd lock = lock_role(kGate);
  if (!lock) return refuse_to_serve(kGate, "another gate serves this data directory");
  const auto bytes = take_settings();
  const auto settings = bytes ? wire::decode<gate::Settings>(*bytes) : std::nullopt;
  if (!settings) return refuse_to_serve(kGate, "its settings cannot be read");
  tell_identity(lock, gate_identity(*settings));
  for (const int directory : {kDirectory, kRules}) ::fcntl(directory, F_SETFD, FD_CLOEXEC);
  return stand_guard(
      kGate, {.serve =
                  [&](UniqueFd asks) {
                    return gate::run_gate({*settings, kDirectory, kRules, life, asks.release()});
                  },
              .answer = [](int asked) { return gate::answer_dial(asked, kDirectory); }});
}

Result<UniqueFd> watch_gate(const GateOptions& options) {
  return watch_role(
      {.role = kGate,
       .data = options.settings.data,
       .identity = gate_identity(options.settings),
       .become = [&options] { return become_gate(options, gate::Life::kWhileNeeded); }});
}

}  // namespace cay::app
