// locate(): any record leads forward, to its end, without a piece past the stream.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>

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
