// How commands end, as the vendor's clients learn it. An exit code is always the program's own. An
// end that Cay or the sandbox made is an error instead.
#pragma once
#include <optional>
#include <string>

#include "base/result.h"
#include "model/context.h"

namespace cay::api::daytona {

// 128 + N stands for signal N. Fails PROCESS_EXECUTION_TIMEOUT, SANDBOX_STOPPED,
// INFRASTRUCTURE_FAILURE.
Result<int> exit_code_of(const CommandEnd& end);

// The same for a command of a session. Absent: it runs. Fails as above. SESSION_ENDED: a
// client ended the session before the command. COMMAND_NEVER_RAN: the shell ended before it came to
// the command. OUTPUT_DROPPED: the record of the end was dropped.
Result<std::optional<int>> exit_code_of(const Evaluation& evaluation);

// The line that stands in an output for bytes that were dropped, between two line ends.
// "1000", "about 1000".
std::string dropped_line(const std::string& bytes);

}  // namespace cay::api::daytona
