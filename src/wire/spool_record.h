// The keeper writes the record of a command into its spool so that a torn write never makes a lie.
//
// A file is an 8-byte head and then checked frames (wire/checked_frame.h). A payload is one encoded
// CommandMsg. Those of all good frames, one after another, decode as one message. The first frame
// that is short or does not match its sum ends the record. Records without the head are older:
// messages alone, which are read whole or not at all.
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "wire/messages.h"
#include "wire/spool_layout.h"

namespace cay::wire {

inline constexpr std::string_view kRecordHead{"cayrec\0\2", 8};

// Returns the bytes to append for `message`. The first append of a file begins with kRecordHead.
std::string record_frame(const CommandMsg& message);

struct SpoolRecord {
  CommandMsg message;
  std::size_t good = 0;  // bytes of the file that were understood: cut it there before adding to it
  bool framed = true;    // false: of the old form, to which frames must not be added
};
// nullopt: not even the first frame is whole.
std::optional<SpoolRecord> read_record(std::string_view file);

// Returns whether there may be more than in a record whose keeper is gone: look at the streams'
// files, and settle().
bool is_open(const CommandMsg& record);

// Ends a command whose record is open though its keeper is gone. One that ran is lost, for the
// reason that the host's boot ids show. One that had ended has the output of its files. Others stay
// as they are.
void settle(CommandMsg& record, const SpoolFile& out, const SpoolFile& err,
            std::string_view boot_id);

// Returns a command whose record cannot be read at all: lost. It may have run, so its id stays
// taken.
CommandMsg damaged_record(std::string command_id, std::uint64_t out_size, std::uint64_t err_size);

}  // namespace cay::wire
