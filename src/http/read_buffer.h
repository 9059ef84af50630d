// ReadBuffer: bytes that were read from a connection and not taken yet, as a dynamic buffer for
// Beast. Taken bytes and freed memory are overwritten at once, so that no part of a request stays
// behind.
#pragma once
#include <boost/asio/buffer.hpp>
#include <cstddef>
#include <vector>

#include "base/wiped_memory.h"

namespace cay::http {

class ReadBuffer {
 public:
  using const_buffers_type = boost::asio::const_buffer;
  using mutable_buffers_type = boost::asio::mutable_buffer;

  explicit ReadBuffer(std::size_t most) : most_(most) {}

  std::size_t size() const { return end_ - begin_; }
  std::size_t max_size() const { return most_; }
  std::size_t capacity() const { return memory_.size(); }
  const_buffers_type data() const { return {memory_.data() + begin_, size()}; }
  // Room for as many bytes behind what there is, to be filled and then committed. Throws
  // std::length_error: there would be more than `most`.
  mutable_buffers_type prepare(std::size_t count);
  void commit(std::size_t count);
  void consume(std::size_t count);
  void clear() { consume(size()); }

 private:
  std::size_t most_;
  std::vector<char, WipingAllocator<char>> memory_;
  std::size_t begin_ = 0, end_ = 0;
};

}  // namespace cay::http
