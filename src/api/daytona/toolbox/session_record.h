// Sessions: a shell of core's contexts each, and a record of its commands in files of the sandbox.
// Nothing of them is in the daemon's memory, so that they outlive it.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "api/daytona/toolbox/request.h"
#include "model/context.h"

namespace cay::api::daytona {

// The name of the session that stands for the sandbox's own first program.
inline constexpr std::string_view kEntrypoint = "entrypoint";
inline constexpr std::string_view kEntrypointCommand = "entrypoint_command";

// The id of the context that is the session's shell.
std::string context_of_session(std::string_view session);
// The session's own id. Empty: the context is of no session, or its session went with a stop of the
// sandbox.
std::string session_of_context(const Context& context);
// The variables of the context, from which session_of_context() reads.
std::map<std::string, std::string> session_env(const std::string& session);

// The directory of the session's commands inside.
std::string session_directory(std::string_view session);
// The files of one command: its text, and the pipe of its input.
std::string command_file(std::string_view session, std::string_view command);
std::string input_pipe(std::string_view session, std::string_view command);

// A session that is there. Fails PROCESS_NOT_FOUND.
Task<Context> find_session(core::Cay& cay, Box box, std::string session);

// The command's text. Fails PROCESS_NOT_FOUND.
Task<std::string> read_command(core::Cay& cay, Box box, std::string session, std::string command);
Task<void> write_command(core::Cay& cay, Box box, std::string session, std::string command,
                         std::string text);
Task<void> forget_command(core::Cay& cay, Box box, std::string session, std::string command);
// The ids of its commands, in their order.
Task<std::vector<std::string>> commands_of_session(core::Cay& cay, Box box, std::string session);

}  // namespace cay::api::daytona
