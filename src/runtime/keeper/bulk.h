// Bulk: a socket between the daemon and a file helper that carries the content of one file, without
// frames. The keeper passes the socket and does not see the bytes. The stream ends without a
// verdict: a frame of the request's channel confirms the end, or has the error.
#pragma once
#include <memory>

#include "async/piped.h"
#include "async/task.h"
#include "base/unique_fd.h"
#include "runtime/keeper/persistent_link.h"

namespace cay::runtime {

class Bulk {
 public:
  static constexpr std::uint64_t kWorth = 256 * 1024;  // bytes of content that are worth one

  // Whether the keeper behind it passes such sockets.
  static bool is_known(const PersistentLink& line);
  // kUnavailable (no_descriptors): it is none, for the daemon had no descriptor free. kInternal
  // (protocol_error): it is no socket.
  static Result<std::unique_ptr<Bulk>> adopt(asio::any_io_executor loop, UniqueFd passed);

  // Some bytes. None: the helper has ended the stream, or is gone.
  Task<Bytes> read();
  Task<KernelPipe> read_piped();
  // All of them. False: the helper takes no more, and the channel has the reason.
  Task<bool> write(Bytes bytes);
  Task<bool> write_piped(KernelPipe pipe);
  void end();

 private:
  explicit Bulk(KernelSocket socket) : socket_(std::move(socket)) {}

  KernelSocket socket_;
};

}  // namespace cay::runtime
