// RoleProcess: starts a helper of the daemon (gate, broker). Root is dropped first. The helper is
// this program again, with its settings and its directory and nothing else.
#pragma once
#include <fcntl.h>

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "data_dir.h"

namespace cay::app {

// The descriptor at which become_role() leaves the settings.
inline constexpr int kRoleSettings = 3;
inline constexpr int kRoleDirectory = 4;

// For good; with no_new_privs.
Result<void> drop_to(const DaemonUser& user);

// `settings` in a file that is memory alone.
Result<UniqueFd> settings_file(const char* name, const std::string& bytes);
// Returns the settings that settings_file() left at kRoleSettings and closes it. Nothing:
// unreadable.
std::optional<std::string> take_settings();

// Replaces this process by `words` of this program, which finds `left` from kRoleSettings on:
// settings, directory, and whatever else is its own. Returns only an error.
Error exec_role(std::vector<std::string> words, std::vector<int> left, const DaemonUser& user);

}  // namespace cay::app
