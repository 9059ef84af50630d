// Where a command's output lies in its spool: SPOOL/<command id>/{out,err,record}.
//
// `out` and `err` hold the raw bytes. A stream within its limit lies linearly: offset = file
// position. Past the limit, the file is a head and a ring: bytes [0, ring_begin) at their own
// position, a later offset o at ring_begin + (o - ring_begin) % ring_size; what the ring overwrote,
// and what a full disk refused, is the gap [gap_begin, gap_end). `record` holds CommandMsgs one after another
// (spool_record.h): decoded as one, later members replace earlier ones (argv is only in the first).
//
// A record still "running" whose keeper is gone: ring_size 0 means that the file's size is the
// stream's length; else the newest bytes' place is unknown and only the head is to be offered.
#pragma once
#include <cstdint>

#include "wire/messages.h"

namespace cay::wire {

inline constexpr const char* kSpoolOut = "out";
inline constexpr const char* kSpoolErr = "err";
inline constexpr const char* kSpoolRecord = "record";

struct SpoolPiece {
  enum class Kind : std::uint8_t {
    kData,  // `length` bytes at `file_position`
    kGap,   // `length` bytes were dropped
    kEnd,   // nothing there (yet)
  };
  Kind kind = Kind::kEnd;
  std::uint64_t length = 0;
  std::uint64_t file_position = 0;
};

// The next piece of at most `want` bytes of data from `offset` on (a gap is told whole).
SpoolPiece locate(const ExtentMsg& stream, std::uint64_t offset, std::uint64_t want);

// What a stopped sandbox's reader may use of a stream: `stream` as of the record, `file_size` as of
// the spool file, `running` if the record never saw the end.
ExtentMsg settled(const ExtentMsg& stream, std::uint64_t file_size, bool running);

}  // namespace cay::wire
