// The file DATA/rules/ID has what a sandbox may reach, if that differs from what its keeper lends.
// The daemon writes it and the gate reads it (wire::SandboxPolicy). A gate that serves gets a
// message about a change, and responds when it applies it. A gate that starts reads the file before
// it serves.
#pragma once
#include <set>
#include <string>

#include "async/task.h"
#include "model/ids.h"
#include "wire/messages.h"

namespace cay::runtime {

// kUnavailable (policy_not_in_force): nothing was changed.
Result<void> write_rules(const std::string& data, const SandboxId& id,
                         const wire::SandboxPolicy& policy);
// Absent is success.
Result<void> remove_rules(const std::string& data, const SandboxId& id);
// Removes those of others than `known`, and what was written of their proxy rules
// (wire/routes_file.h).
void keep_rules_of(const std::string& data, const std::set<SandboxId>& known);
// kUnavailable (policy_not_in_force): a gate is there, and did not confirm in time that it goes by
// it.
Task<void> tell_gate(asio::any_io_executor loop, std::string data, SandboxId id);
// Returns when all that the gate decided about the sandbox so far is in its files. A gate that does
// not answer soon, or is not there, has written what it will.
asio::awaitable<void> gate_has_written(asio::any_io_executor loop, std::string data, SandboxId id);

}  // namespace cay::runtime
