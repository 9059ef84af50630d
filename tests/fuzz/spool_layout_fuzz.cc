// Any record leads forward, to its end, without a piece past the stream; a ring's mark is read
// where it was written.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>

#include "wire/spool_layout.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::uint32_t raw[11] = {};
  std::memcpy(raw, data, std::min(size, sizeof raw));
  cay::wire::ExtentMsg stream;
  stream.bytes = raw[0];
  stream.end_offset = raw[1];
  stream.gap_begin = raw[2];
  stream.gap_end = raw[3];
  stream.ring_begin = raw[4];
  stream.ring_size = raw[5];
  cay::wire::SpoolFile file;
  file.size = raw[6];
  if ((raw[7] & 2) != 0) file.mark = {raw[8], raw[9], raw[10]};
  if ((raw[7] & 24) == 8 && stream.ring_size > 0) {
    static const int file_in_memory = ::memfd_create("spool", MFD_CLOEXEC);
    const std::string mark = cay::wire::ring_mark({raw[8], raw[9], raw[10]});
    const auto at = static_cast<off_t>(std::uint64_t{raw[4] % 4096} + raw[5] % 4096);
    cay::wire::ExtentMsg small = stream;
    small.ring_begin = raw[4] % 4096;
    small.ring_size = raw[5] % 4096;
    if (::ftruncate(file_in_memory, 0) != 0 ||
        ::pwrite(file_in_memory, mark.data(), mark.size(), at) != static_cast<ssize_t>(mark.size()))
      std::abort();
    const auto seen = cay::wire::look_at(file_in_memory, small);
    if (small.ring_size > 0 &&
        (!seen.mark || seen.mark->bytes != raw[8] || seen.mark->until != raw[9]))
      std::abort();
    file = seen;
  }
  if ((raw[7] & 4) != 0) stream = cay::wire::settled(stream, file, (raw[7] & 1) != 0);
  std::uint64_t offset = 0;
  for (int steps = 0; steps < 1000; ++steps) {
    const auto piece = cay::wire::locate(stream, offset, 1 << 20);
    if (piece.kind == cay::wire::SpoolPiece::Kind::kEnd) {
      if (offset < stream.bytes) std::abort();
      return 0;
    }
    if (piece.length == 0 || piece.length > stream.bytes - offset) std::abort();
    offset += piece.length;
  }
  return 0;
}
