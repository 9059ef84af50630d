// The layout of a command's output in its spool: SPOOL/<command id>/{out,err,record}.
//
// `out` and `err` hold the raw bytes. A stream within its limit lies linearly: offset = file
// position. Past the limit, the file is a head and a ring. Bytes [0, ring_begin) are at their own
// position, and a later offset o at ring_begin + (o - ring_begin) % ring_size. The gap [gap_begin,
// gap_end) is what the ring overwrote and what a full disk refused. `record` holds CommandMsgs one
// after another (spool_record.h). Decoded as one, later members replace earlier ones (argv is only
// in the first).
//
// A record may still be "running" with its keeper gone. With ring_size 0, the file's size is the
// stream's length. Otherwise the ring's mark has it: a checked frame (checked_frame.h) of one
// RingMark behind the ring, written before and after each write into it. Without a mark (an older
// release, a full disk) the newest bytes' place is unknown and only the head is offered.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "wire/checked_frame.h"
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

// Returns the next piece of at most `want` bytes of data from `offset` on. A gap is one piece.
SpoolPiece locate(const ExtentMsg& stream, std::uint64_t offset, std::uint64_t want);

// How far a ring is. The bytes from `bytes` to `until` may be in their place, or the older ones
// there still.
struct RingMark {
  std::uint64_t bytes = 0;        // of the stream, in their place
  std::uint64_t until = 0;        // as far as the write under way goes
  std::uint64_t lost_before = 0;  // bytes of the ring below that were refused by the disk
  template <class V>
  void fields(V& v) {
    v(1, bytes);
    v(2, until);
    v(3, lost_before);
  }
};
inline constexpr std::size_t kRingMark = kCheckedHead + 3 * (2 + 4 + 8);  // bytes of a mark
std::string ring_mark(const RingMark& mark);

// The part of a stream that is in its file.
struct SpoolFile {
  std::uint64_t size = 0;
  std::optional<RingMark> mark;
};
// Reads the facts of an open spool file (-1: there is none) whose record is `stream`.
SpoolFile look_at(int fd, const ExtentMsg& stream);

// Returns the usable part of a stream whose keeper is gone. `stream` is its record, which never saw
// the end. `same_boot`: the host was not restarted since. Otherwise the last writes to file and
// mark need not go together.
ExtentMsg settled(const ExtentMsg& stream, const SpoolFile& file, bool same_boot);

// The same of a stream whose record saw the end of its command, but not of those who could still
// write to it.
ExtentMsg settled_after_end(const ExtentMsg& stream, const SpoolFile& file, bool same_boot);

}  // namespace cay::wire
