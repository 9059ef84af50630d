#include "http/read_buffer.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>

namespace cay::http {

ReadBuffer::mutable_buffers_type ReadBuffer::prepare(std::size_t count) {
  constexpr std::size_t kLeast = 512;
  const std::size_t have = size();
  if (have > most_ || count > most_ - have)
    throw std::length_error("a connection's buffer is full");
  if (memory_.size() - end_ < count &&
      memory_.size() - have >= count) {  // there is room once it is moved to the front
    std::memmove(memory_.data(), memory_.data() + begin_, have);
    wipe(memory_.data() + std::max(have, begin_), end_ - std::max(have, begin_));
  } else if (memory_.size() - end_ < count) {
    std::vector<char, WipingAllocator<char>> wider(
        std::min(most_, std::max({kLeast, 2 * have, have + count})));
    std::copy_n(memory_.data() + begin_, have, wider.data());
    memory_.swap(wider);
  } else {
    return {memory_.data() + end_, count};
  }
  begin_ = 0;
  end_ = have;
  return {memory_.data() + end_, count};
}

void ReadBuffer::commit(std::size_t count) { end_ += std::min(count, memory_.size() - end_); }

void ReadBuffer::consume(std::size_t count) {
  count = std::min(count, size());
  wipe(memory_.data() + begin_, count);
  begin_ += count;
  if (begin_ == end_) begin_ = end_ = 0;
}

}  // namespace cay::http
