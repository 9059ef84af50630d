// PipedSocket: what a WebSocket may be besides: one that passes a stream on without copies of its own. Whoever does that
// asks for it by a dynamic_cast.
#pragma once
#include <optional>
#include <span>

#include "async/kernel_pipe.h"
#include "async/task.h"

namespace cay::http {

class PipedSocket {
 public:
  virtual ~PipedSocket() = default;
  // Instead of read(), for a peer to whom the borders of messages mean nothing: the bytes that have come, as far as they
  // fit. Nothing: it is closed, for ever; read() tells how.
  virtual asio::awaitable<std::optional<std::size_t>> read_some(std::span<char> into) = 0;
  // Whether send_piped() may be called: not under TLS.
  virtual bool can_splice() const = 0;
  // One binary message: `head`, and then what the pipe holds, which stays in the kernel. Queued with the other sends.
  virtual Task<void> send_piped(Bytes head, KernelPipe payload) = 0;
};

}  // namespace cay::http
