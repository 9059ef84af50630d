// Spill: writes what is too large for a conversation to a file in the sandbox.
#pragma once
#include <string>

#include "agent/loop/harness.h"

namespace cay::agent {

// `<workdir>/large_tool_results/<call>`. The result's text becomes its path and a preview. Results
// of ls, glob, grep, read_file, edit_file, write_file and delete stay: those tools bound them. The
// result also stays where the file cannot be written.
Task<ToolResult> spill_result(Harness* harness, std::string call_id, std::string tool,
                              ToolResult result);

// Returns the path `<workdir>/conversation_history/<name>.md` of a large input. Empty: it is not
// large, or the file cannot be written.
Task<std::string> spill_input(Harness* harness, std::string name, std::string text);

// Writes a file below the working directory, and returns its path. Empty: it cannot be written, and
// the sandbox is still there.
Task<std::string> write_aside(Harness* harness, std::string relative, std::string bytes);

}  // namespace cay::agent
