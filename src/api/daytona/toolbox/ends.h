// How commands end, as the vendor's clients learn it. An exit code is always the program's own. An
// end that Cay or the sandbox made is an error instead.
#pragma once
#include <optional>
#include <string>

#include "base/result.h"
#include "model/context.h"

namespace cay::api::daytona {

// 128 + N stands for signal N. Fails PROCESS_EXECUTION_TIMEOUT, SANDBOX_STOPPED, COMMAND_LOST.
Result<int> exit_code_of(const CommandEnd& end);

// Of a command of a session. Absent: it runs. Fails as above, and SESSION_ENDED (the session was
// ended before it), COMMAND_NEVER_RAN (so it was before its shell came to it), OUTPUT_DROPPED
// (nobody knows any more how it ended).
Result<std::optional<int>> exit_code_of(const Evaluation& evaluation);

// The line that stands in an output for bytes that were dropped, between two line ends.
// "1000", "about 1000".
std::string dropped_line(const std::string& bytes);

}  // namespace cay::api::daytona
