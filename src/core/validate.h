// The limits of requests. Pure checks whose errors state what would be right. They know no state.
#pragma once
#include <string>

#include "base/result.h"
#include "core/settings.h"
#include "model/command.h"
#include "model/file.h"
#include "model/sandbox.h"

namespace cay::core {

// Less than this, nothing of use runs.
inline constexpr Limits kLeastLimits{
    .cpu_millicores = 10, .memory_bytes = 16ull << 20, .disk_bytes = 16ull << 20, .pids = 16};

// Name (or empty), labels, limits (zeros filled from the defaults), run, policy, profile, timers,
// facade data. Gives the spec back with every default in place but the name.
Result<SandboxSpec> checked(SandboxSpec spec, const Defaults& defaults);
Result<void> check(const SandboxPatch& patch, const Defaults& defaults);
// The parts of the above that other requests have too.
Result<void> check_name(const std::string& name);
// 1 to 200 bytes without control characters.
Result<void> check_claim(const std::string& claim);
Result<void> check_labels(const std::map<std::string, std::string>& labels);
Result<void> check(const RunConfig& run);
// Returns the policy that a client's words mean, within what the operator allows.
Result<policy::Choice> chosen_policy(const std::string& words, const Defaults& defaults);

// argv, environment, ids, terminal size, times. An empty id is filled with a new one.
Result<CommandSpec> checked(CommandSpec spec);
// Checks that the arguments and the environment, with the sandbox's own, are no more than a program
// can get.
Result<void> check_size(const CommandSpec& spec);
Result<void> check_command_id(const CommandId& id);
Result<void> check_signal(int signal);
Result<void> check_pty(PtySize size);

// Checks a guest path: not empty, at most 4095 bytes, no NUL. It is resolved inside only.
Result<void> check_path(const std::string& path);
Result<void> check_as(const FileAs& as);

}  // namespace cay::core
