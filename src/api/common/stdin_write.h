// Writing a command's stdin so that nothing of it is lost without a word.
#pragma once
#include "core/cay.h"
#include "model/command.h"
#include "model/principal.h"

namespace cay::api {

// Writes all of `data`, in order. If the commands of the sandbox hold too much input
// (stdin_backlog) it waits, for as long as the command runs. Fails stdin_closed when the command
// has ended or closed its stdin, whatever the sandbox answered. With any other failure a part may
// be missing. `more`: the caller holds more of the input, or its end.
Task<void> write_whole_stdin(core::Cay& cay, Principal who, std::string ref, CommandId id,
                             Bytes data, bool more);

// The same for the end of input.
Task<void> end_stdin(core::Cay& cay, Principal who, std::string ref, CommandId id);

// The same of a command that the caller saw start: one that nobody knows any more has ended, and
// its keeping time is over.
Error of_one_that_began(Error refused);

// Nobody will read more: as with a pipe, what is left is of no use, and that is no failure.
bool stdin_is_over(const Error& error);

// Kills the command, since it must not take a part of its input for the whole. The error states
// that.
Task<void> kill_for_lost_input(core::Cay& cay, Principal who, std::string ref, CommandId id,
                               Error why);

}  // namespace cay::api
