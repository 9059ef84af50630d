// Task<T>: the coroutine type of the daemon and the SDK. One co_await per statement, parameters by
// value (docs: CONTRIBUTING.md, "Coroutines").
#pragma once
#include <boost/asio/awaitable.hpp>

#include "base/result.h"

namespace cay {

namespace asio = boost::asio;

template <class T>
using Task = asio::awaitable<Result<T>>;

// Bytes in flight. Chunks are at most 64 KiB unless said otherwise.
using Bytes = std::string;

// A pulled stream: next() gives the next chunk, an empty one at the end. One caller at a time.
class ByteSource {
 public:
  virtual ~ByteSource() = default;
  virtual Task<Bytes> next() = 0;
};

}  // namespace cay
