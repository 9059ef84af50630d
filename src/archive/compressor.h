// Compressor: gzip of a stream, into memory. The same bytes give the same output.
#pragma once
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

struct archive;

namespace cay::archive {

class Compressor {
 public:
  // All fail kInternal tar_error.
  static Result<std::unique_ptr<Compressor>> gzip();
  ~Compressor();
  Compressor(const Compressor&) = delete;
  Compressor& operator=(const Compressor&) = delete;

  Result<void> add(std::string_view bytes);
  Result<void> close();
  std::string take();  // the bytes that were written since

 private:
  struct Free {
    void operator()(::archive* it) const;
  };
  Compressor();
  Error error() const;

  std::string out_;
  std::unique_ptr<::archive, Free> raw_;  // last: its end writes to `out_`
};

}  // namespace cay::archive
