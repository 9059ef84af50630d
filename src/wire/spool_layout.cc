#include "wire/spool_layout.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>

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

std::string ring_mark(const RingMark& mark) {
  std::string out;
  append_checked(out, encode(mark));
  return out;
}

SpoolFile look_at(int fd, const ExtentMsg& stream) {
  SpoolFile file;
  struct stat facts{};
  if (fd < 0 || ::fstat(fd, &facts) != 0) return file;
  file.size = static_cast<std::uint64_t>(facts.st_size);
  const std::uint64_t at = stream.ring_begin + stream.ring_size;
  if (stream.ring_size == 0 || at < stream.ring_size || at > file.size) return file;
  std::array<char, kRingMark> bytes{};
  const ssize_t got = ::pread(fd, bytes.data(), bytes.size(), static_cast<off_t>(at));
  if (got != static_cast<ssize_t>(bytes.size())) return file;
  const auto payload = first_checked({bytes.data(), bytes.size()});
  if (payload) file.mark = decode<RingMark>(*payload);
  return file;
}

ExtentMsg settled(const ExtentMsg& stream, const SpoolFile& file, bool same_boot) {
  ExtentMsg out = stream;
  if (stream.ring_size == 0) {
    out.bytes = std::max(stream.bytes, file.size);
    if (out.gap_end == out.gap_begin) out.bytes = file.size;
  } else {
    const auto& mark = file.mark;
    const bool fits = mark && mark->bytes >= stream.bytes && mark->until >= mark->bytes;
    if (fits) out.bytes = mark->bytes;
    out.gap_begin = stream.ring_begin;
    out.gap_end = out.bytes;
    if (fits && same_boot && mark->until >= stream.ring_size) {
      const std::uint64_t kept =
          std::max({mark->until - stream.ring_size, mark->lost_before, stream.ring_begin});
      out.gap_end = std::min(kept, out.bytes);
    }
  }
  out.end_offset = out.bytes;
  return out;
}

ExtentMsg settled_after_end(const ExtentMsg& stream, const SpoolFile& file, bool same_boot) {
  // After a boot of the host, bytes beyond the record may be there in any order: only the record
  // counts.
  if (!same_boot || (stream.ring_size == 0 && file.size < stream.bytes)) return stream;
  ExtentMsg out = settled(stream, file, true);
  out.end_offset = stream.end_offset;
  return out;
}

}  // namespace cay::wire
