// Task<T>: the coroutine type of the daemon and the SDK. One co_await per statement, parameters by
// value (docs: CONTRIBUTING.md, "Coroutines").
#pragma once
#include <boost/asio/awaitable.hpp>

#include "base/result.h"

namespace cay {

namespace asio = boost::asio;

template <class T>
using Task = asio::awaitable<Result<T>>;

// Bytes in flight, in chunks of at most 64 KiB unless a function states another size.
using Bytes = std::string;

// A pulled stream: next() gives the next chunk, an empty one at the end. One caller at a time.
class ByteSource {
 public:
  virtual ~ByteSource() = default;
  virtual Task<Bytes> next() = 0;
};

// Both directions of a connection. read() and write() may overlap each other; each has one caller
// at a time. Destroying one that is not over breaks it, so that neither side takes a part for the
// whole.
class ByteStream {
 public:
  virtual ~ByteStream() = default;
  // The next bytes, at most 256 KiB; none: the other side will send no more.
  virtual Task<Bytes> read() = 0;
  // Completes when all bytes are on their way: awaiting it is back-pressure.
  virtual Task<void> write(Bytes bytes) = 0;
  // No more will be written: the other side reads to its end. It may go on sending.
  virtual Task<void> shut_write() = 0;
};

}  // namespace cay
