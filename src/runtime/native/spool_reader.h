// Commands of a sandbox that does not run, from its spools on disk (wire/spool_layout.h). A keeper
// wrote them: nothing there is followed, and no length is believed without looking.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "base/unique_fd.h"
#include "core/ports/runtime.h"

namespace cay::runtime {

// `spool`: DATA/spool. `boot_id`: of the host now, to tell a lost keeper from a restarted host.
// kNotFound (unknown_command) if there is no such record.
Result<std::vector<Command>> spooled_commands(const std::string& spool, const SandboxId& id,
                                              const std::string& boot_id);
Result<std::unique_ptr<core::CommandReader>> spooled_reader(const std::string& spool, const SandboxId& id,
                                                            const CommandId& command, core::OutputOffsets from,
                                                            const std::string& boot_id);

}  // namespace cay::runtime
