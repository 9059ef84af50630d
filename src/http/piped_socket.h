// PipedSocket: an optional interface of a WebSocket that passes a stream on without copies of its
// own. Relays look for it by a dynamic_cast.
#pragma once
#include <optional>
#include <span>

#include "async/kernel_pipe.h"
#include "async/task.h"

namespace cay::http {

class PipedSocket {
 public:
  virtual ~PipedSocket() = default;
  // Like read(), for a peer that does not use the borders of messages. Reads the bytes that have
  // come, as far as they fit. Nothing: it is closed for ever, and read() reports how.
  virtual asio::awaitable<std::optional<std::size_t>> read_some(std::span<char> into) = 0;
  // Whether send_piped() may be called: not under TLS.
  virtual bool can_splice() const = 0;
  // One binary message: `head`, and then what the pipe holds, which stays in the kernel. Queued
  // with the other sends.
  virtual Task<void> send_piped(Bytes head, KernelPipe payload) = 0;
};

}  // namespace cay::http
