// Decompressor: the plain bytes of a stream that gzip or zstd compressed, or that is plain already.
//
// The first bytes decide which it is. It decompresses once: a
// compressed stream inside the output stays compressed. It keeps no more than a window of the
// stream. It blocks as its source does.
#pragma once
#include <memory>
#include <optional>
#include <string>

#include "archive/tar_reader.h"
#include "base/result.h"

namespace cay::archive {

class Decompressor {
 public:
  explicit Decompressor(TarPull pull);
  ~Decompressor();
  Decompressor(const Decompressor&) = delete;
  Decompressor& operator=(const Decompressor&) = delete;

  // Returns the next bytes, "" at the end. Fails kInvalidArgument bad_compression: the stream is
  // cut off or broken, or has not one byte. The source's own errors pass through.
  Result<std::string> next();

 private:
  struct Free {
    void operator()(::archive* it) const;
  };
  static std::int64_t feed(::archive* raw, void* self, const void** bytes);
  Result<std::string> pull();
  Result<void> open();
  Error broken() const;

  TarPull pull_;
  bool is_open_ = false, is_plain_ = false;
  std::string begin_;  // was read to see which it is
  std::string chunk_;  // libarchive reads it until the next one
  std::optional<Error> input_error_;
  std::unique_ptr<::archive, Free> raw_;
};

}  // namespace cay::archive
