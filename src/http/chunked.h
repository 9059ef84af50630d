// Chunked transfer coding (RFC 9112, 7.1). Pure; fuzzed.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace cay::http {

// Takes coded bytes in any pieces, gives the decoded ones.
class ChunkDecoder {
 public:
  enum class State { kMore, kDone, kBad };

  // Consumes from the front of `in`, appends at most `limit` decoded bytes to `out`, and stops at
  // the end of the body: what is left in `in` is not of this body. Trailers are read and dropped
  // (up to 4 KiB). kMore with `in` not empty: `limit` was reached.
  State decode(std::string_view& in, std::string& out, std::size_t limit);
  State state() const { return state_; }

 private:
  enum class Step { kSize, kExtension, kSizeLf, kData, kDataCr, kDataLf, kTrailer };
  void take(char c);
  void end_of_line();

  State state_ = State::kMore;
  Step step_ = Step::kSize;
  std::uint64_t left_ = 0;      // of this chunk
  int digits_ = 0;
  std::size_t overhead_ = 0;    // of this chunk's line, or of the trailers
  bool trailer_cr_ = false;
  bool trailer_line_empty_ = true;
};

// "1a\r\n"; followed by the bytes and CRLF it is one chunk.
std::string chunk_head(std::size_t size);
inline constexpr std::string_view kLastChunk = "0\r\n\r\n";

}  // namespace cay::http
