// Reads a command to its end, keeping the beginning and the end of each stream.
#pragma once
#include <optional>
#include <string>

#include "codec/kept_output.h"
#include "core/answer_room.h"
#include "core/cay.h"
#include "core/verbs/commands.h"
#include "model/command.h"

namespace cay::api {

using AnswerPart = std::shared_ptr<core::AnswerRoom::Part>;

struct Collected {
  Command command;  // with its end
  std::string out;
  std::string err;
  std::optional<codec::KeptGap> out_gap, err_gap;
  bool truncated = false;  // `out` and `err` do not hold all that was written up to the end
  bool too_large = false;  // no answer holds so much (kMostAnswer): `out` and `err` are empty
  bool no_room = false;    // nor has `part` room for it now: the same
};

// Keeps at most `most` bytes of each stream: its beginning and its end, with a note of what is left
// out between (codec/kept_output.h). `part` of the room for answers holds what is kept.
Task<Collected> collect(core::Reader reader, std::uint64_t most, AnswerPart part);

// The error for a command that ran and whose output has no room in an answer. It is not kExhausted:
// a client that repeats the request would run the command again. `where` the output is.
Error output_not_held(const std::string& ran, const std::string& where);

// Bytes written up to the leader's end.
std::uint64_t bytes_at_end(const StreamExtent& extent);

}  // namespace cay::api
