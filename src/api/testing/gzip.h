// Compresses as a client does. For tests.
#pragma once
#include <zlib.h>

#include <string>

namespace cay::api::testing {

inline std::string gzip(const std::string& plain) {
  z_stream stream{};
  constexpr int kGzipWindow = 15 + 16, kMemory = 8;
  deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED, kGzipWindow, kMemory, Z_DEFAULT_STRATEGY);
  std::string in = plain;
  std::string out(deflateBound(&stream, static_cast<uLong>(in.size())), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(in.data());
  stream.avail_in = static_cast<uInt>(in.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

}  // namespace cay::api::testing
