// DirectWrite: what a stream may be besides: one into which bytes go from where they are, without waiting. Whoever passes
// bytes on asks for it by a dynamic_cast.
#pragma once
#include <cstddef>
#include <string_view>

namespace cay {

class DirectWrite {
 public:
  virtual ~DirectWrite() = default;
  // How many of the bytes were taken at once: none where they would have to wait, or the stream is broken; write() tells. Not
  // while a write() is under way.
  virtual std::size_t write_now(std::string_view bytes) = 0;
};

}  // namespace cay
