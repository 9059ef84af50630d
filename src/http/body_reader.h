// BodyReader reads the body of one request. It returns the body whole, in pieces, or in pieces that
// stay in the kernel.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "async/kernel_pipe.h"
#include "async/task.h"
#include "http/read_buffer.h"
#include "http/request_connection.h"
#include "http/request_head.h"

namespace cay::http {

class BodyReader {
 public:
  // `connection`, `buffer` and `parser` are the request's. `buffer` has what came with its head.
  BodyReader(RequestConnection& connection, ReadBuffer& buffer, RequestParser& parser,
             const RequestHead& head);

  // Returns the whole body. Fails kInvalidArgument (body_too_large) past `limit`.
  Task<std::string> read_all(std::size_t limit);
  Task<Bytes> next_piece();  // empty: the end
  bool is_over() const { return left_ ? *left_ == 0 : parser_.is_done(); }
  // Whether the client waits for a "100 Continue" before it sends the body.
  bool awaits_continue() const { return expects_continue_ && !is_over(); }
  // Whether the next piece of it can stay in the kernel: of a known length, not under TLS, and
  // nothing of it was read yet.
  bool can_splice();
  Task<KernelPipe> next_piped_piece();
  // Whether what is left fits drain()'s limit, as far as its length is known. The listener closes
  // the connection after the response otherwise, and the response has `Connection: close`.
  bool fits_drain() const;
  // Reads what is left of the body. False: too much, or broken.
  asio::awaitable<bool> drain();

 private:
  // Returns how much is left of a body of known length.
  std::optional<std::uint64_t> told_left() const;
  Task<void> send_continue();
  Task<ErrorCode> read_piece();
  bool knows_left();
  // Some of the body, into memory of the caller's and nowhere else; 0: its end.
  Task<std::size_t> read_into(std::span<char> into);
  std::optional<std::size_t> take_known(std::span<char> into);
  Task<std::size_t> read_known_into(std::span<char> into);
  Task<ErrorCode> read_known(std::span<char> into, std::size_t& got);
  Task<KernelPipe> take_slowly(ErrorCode& error);
  Error late();

  RequestConnection& connection_;
  ReadBuffer& buffer_;
  RequestParser& parser_;
  bool expects_continue_ = false;
  // The bytes that are left of a body of known length. It is set once the body is read, and the
  // parser then sees no more of it.
  std::optional<std::uint64_t> left_;
};

// Returns the body as a stream.
std::unique_ptr<ByteSource> body_source(std::shared_ptr<BodyReader> body);

}  // namespace cay::http
