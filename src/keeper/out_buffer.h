// OutBuffer: bytes on their way into a stream socket that takes some of them at a time, with
// descriptors between them.
#pragma once
#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>

#include "base/unique_fd.h"

namespace cay::keeper {

class OutBuffer {
 public:
  void append(std::string_view bytes);
  void append(std::uint64_t value, int bytes);  // little-endian
  // Goes with the byte that is appended next, and is closed then.
  void attach(UniqueFd descriptor);

  std::size_t size() const { return bytes_.size() - begin_; }
  bool empty() const { return size() == 0; }

  // Sends what the socket takes now. Returns 0, or the errno with which it failed: EAGAIN is none.
  int flush(int socket);
  // Once it is empty: returns memory beyond `kept` bytes.
  void shrink(std::size_t kept);

 private:
  struct Attached {
    std::uint64_t at = 0;  // the byte, counted from the first one ever
    UniqueFd descriptor;
  };
  void tidy();

  std::string bytes_;
  std::size_t begin_ = 0;
  std::uint64_t gone_ = 0;  // bytes sent so far
  std::deque<Attached> attached_;
};

}  // namespace cay::keeper
