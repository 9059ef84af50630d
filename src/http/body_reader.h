// BodyReader: the body that follows a head on a Stream, decoded, in pieces. Both sides use it.
#pragma once
#include <cstdint>
#include <memory>
#include <string>

#include "http/chunked.h"
#include "http/head_parser.h"
#include "http/stream.h"

namespace cay::http {

class BodyReader {
 public:
  enum class Until { kFraming, kEnd };  // kEnd: neither length nor chunks: to the peer's end

  BodyReader(std::shared_ptr<Stream> stream, const Framing& framing, Until until);

  // The next bytes, at most 64 KiB; empty at the end. kUnavailable "connection_lost" when the peer
  // goes before the end; kInvalidArgument "bad_chunk" when it breaks the coding.
  Task<Bytes> next();

  bool done() const { return done_; }
  bool failed() const { return failed_; }
  // Bytes still to come, where a length said so.
  std::optional<std::uint64_t> remaining() const;

 private:
  Task<Bytes> next_plain();
  Task<Bytes> next_chunked();
  Error lost();

  std::shared_ptr<Stream> stream_;
  bool chunked_ = false;
  bool to_end_ = false;
  std::uint64_t left_ = 0;
  ChunkDecoder decoder_;
  bool done_ = false;
  bool failed_ = false;
};

}  // namespace cay::http
