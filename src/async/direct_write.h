// DirectWrite: an optional interface of a stream that can send bytes from where they are, without
// waiting. Relays look for it by a dynamic_cast.
#pragma once
#include <cstddef>
#include <string_view>

namespace cay {

class DirectWrite {
 public:
  virtual ~DirectWrite() = default;
  // Returns how many of the bytes were taken at once. It is none if they would have to wait, or if
  // the stream is broken, which the next write() reports. Not called while a write() is under way.
  virtual std::size_t write_now(std::string_view bytes) = 0;
};

}  // namespace cay
