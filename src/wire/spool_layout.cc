#include "wire/spool_layout.h"

#include <algorithm>

namespace cay::wire {

SpoolPiece locate(const ExtentMsg& stream, std::uint64_t offset, std::uint64_t want) {
  using Kind = SpoolPiece::Kind;
  if (offset >= stream.bytes) return {};
  if (offset >= stream.gap_begin && offset < stream.gap_end) {
    const std::uint64_t end = std::min(stream.gap_end, stream.bytes);
    return {Kind::kGap, end - offset, 0};
  }
  std::uint64_t room = stream.bytes - offset;
  if (offset < stream.gap_begin && stream.gap_end > stream.gap_begin) {
    room = std::min(room, stream.gap_begin - offset);
  }
  std::uint64_t position = offset;
  if (stream.ring_size > 0) {
    if (offset >= stream.ring_begin) {
      position = stream.ring_begin + (offset - stream.ring_begin) % stream.ring_size;
      room = std::min(room, stream.ring_begin + stream.ring_size - position);
    } else {
      room = std::min(room, stream.ring_begin - offset);
    }
  }
  return {Kind::kData, std::min(room, want), position};
}

ExtentMsg settled(const ExtentMsg& stream, std::uint64_t file_size, bool running) {
  ExtentMsg out = stream;
  if (!running) return out;
  if (stream.ring_size == 0) {
    out.bytes = std::max(stream.bytes, file_size);
    if (out.gap_end == out.gap_begin) out.bytes = file_size;
  } else {
    out.gap_begin = stream.ring_begin;
    out.gap_end = out.bytes;
  }
  out.end_offset = out.bytes;
  return out;
}

}  // namespace cay::wire
