// PipedStream and PipedSource: optional interfaces of a stream that is a socket of the kernel's.
// Its bytes go to another such socket without a copy. Relays look for them by a dynamic_cast.
#pragma once
#include <boost/asio/generic/stream_protocol.hpp>
#include <cstddef>
#include <memory>
#include <optional>
#include <utility>

#include "async/kernel_pipe.h"
#include "async/task.h"

namespace cay {

class PipedStream {
 public:
  virtual ~PipedStream() = default;
  // Whether it is so now. The two below are read() and write() in all other respects; a pipe
  // without bytes is the end.
  virtual bool can_splice() const = 0;
  virtual Task<KernelPipe> read_piped(std::size_t most) = 0;
  virtual Task<void> write_piped(KernelPipe pipe) = 0;
  // Nothing waits in it that was not read, and it has neither ended nor broken.
  virtual bool is_quiet() = 0;
  // The peer has reset the connection, or both directions have ended. Earlier bytes may still be
  // there to be read.
  virtual bool has_gone() = 0;
  // Until the other side's kernel has all that was written, for a moment at most: what is reset
  // then is lost.
  virtual asio::awaitable<void> let_arrive() { co_return; }
};

class PipedSource : public ByteSource {
 public:
  // Returns the bytes that next() would give without waiting, or nothing if it would wait or fail.
  virtual std::optional<Bytes> come() = 0;
  // Whether next_piped() may be called for the next piece.
  virtual bool can_splice() const = 0;
  virtual Task<KernelPipe> next_piped() = 0;
  // Whether it is the answer of a service, which is passed on as it comes.
  virtual bool is_of_service() const { return false; }
};

// PassingSource: another source's pieces, each of which is seen on its way.
class PassingSource : public PipedSource {
 public:
  explicit PassingSource(std::unique_ptr<ByteSource> inner)
      : inner_(std::move(inner)), piped_(dynamic_cast<PipedSource*>(inner_.get())) {}
  Task<Bytes> next() final;
  std::optional<Bytes> come() final;
  bool can_splice() const final { return !failed_ && piped_ != nullptr && piped_->can_splice(); }
  Task<KernelPipe> next_piped() final;

 protected:
  // For a destructor whose own members have to outlive the inner source.
  void drop() { inner_.reset(); }

 private:
  // Sees the size of a piece, 0 at the end. An error takes its place.
  virtual Result<void> see(std::size_t size) = 0;

  std::unique_ptr<ByteSource> inner_;
  PipedSource* piped_;           // the same; null: it is none
  std::optional<Error> failed_;  // for next(): come() had no way to return it
};

using KernelSocket = asio::generic::stream_protocol::socket;

// At most `most` bytes that are here. An error of `would block`: none are; without one, an empty
// pipe is the end.
Result<KernelPipe> take_now(KernelSocket& socket, std::size_t most,
                            boost::system::error_code& failed);
bool would_block(const boost::system::error_code& error);
// Waits until there is something to read, and takes at most `most` bytes. Without an error, an
// empty pipe is the end.
Task<KernelPipe> take_from(KernelSocket& socket, std::size_t most,
                           boost::system::error_code& failed);
// Sends as many bytes as the socket takes now. Returns false if bytes are left: `failed` then
// reports whether the socket may take more later.
bool give_now(KernelSocket& socket, KernelPipe& pipe, boost::system::error_code& failed);
// Writes all of it, and lets the loop have its turn.
asio::awaitable<void> give_to(KernelSocket& socket, KernelPipe& pipe,
                              boost::system::error_code& failed);

}  // namespace cay
