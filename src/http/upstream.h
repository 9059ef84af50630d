// Upstream: one HTTP/1.1 request to a server that is not trusted, over a connection that somebody
// else made, and its answer. Bodies of any size pass through in pieces, both ways at once.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "async/piped.h"
#include "http/message.h"

namespace cay::http {

struct UpstreamRequest {
  std::string method, target;
  Headers headers;  // Host is the caller's; framing (Content-Length, Transfer-Encoding) is ours
  std::optional<std::uint64_t> length;  // of the body
  bool chunked = false;                 // a body of unknown length
  bool websocket = false;               // requests an upgrade to it
  // The connection may carry another request. Never with a body, which a server may leave unread
  // and take for the next request, nor after a request for another protocol.
  bool keep = false;

  bool has_body() const { return chunked || length.value_or(0) > 0; }
};

struct UpstreamAnswer {
  int status = 0;
  Headers headers;                      // as they came, framing too
  std::optional<std::uint64_t> length;  // Content-Length, if it came
};

class Upstream {
 public:
  static constexpr std::uint32_t kMaxHead = 64 * 1024;

  // `stream` outlives it, and what take_stream() gave.
  explicit Upstream(ByteStream& stream);
  ~Upstream();

  // Sends the head with the first bytes of the body, and its end if `whole`. It is one piece: a
  // server that leaves a body unread and closes resets if more comes behind its answer, and may
  // lose it.
  Task<void> send_head(UpstreamRequest request, Bytes body = {}, bool whole = false);
  // A piece of the body; none: its end. May overlap the reading of the answer.
  Task<void> send(Bytes piece);
  // The same as it is in the kernel; where can_send_piped(): the body has a length, and the stream
  // takes it so.
  Task<void> send_piped(KernelPipe pipe);
  bool can_send_piped() const;

  // Interim answers are passed over. Errors: kUnavailable bad_answer (not HTTP, or framed in two
  // ways), connection_lost (it ended before an answer), and the stream's own.
  Task<UpstreamAnswer> read_head();
  // The next piece of the answer's body; none: its end. One that breaks off is an error, never a
  // short body.
  Task<Bytes> next();
  // The next piece if it is here; nothing: next() would wait, or fail.
  std::optional<Bytes> come();
  // Whether the next piece can be had by next_piped(), as it is in the kernel.
  bool can_splice() const;
  Task<KernelPipe> next_piped();
  // Not one byte of an answer has come.
  bool is_unanswered() const;
  // The answer was read to its own end, and the service allows another request.
  bool can_ask_again() const;
  // After a 101: the connection, from the first byte behind the head on.
  std::unique_ptr<ByteStream> take_stream();

 private:
  struct Wire;
  Result<Bytes> framed(Bytes piece);
  Task<void> feed();
  Task<Bytes> next_plain();
  Task<Bytes> next_chunked();
  Result<std::optional<Bytes>> parse_chunked();
  Bytes piece_of_plain();

  ByteStream& stream_;
  PipedStream* piped_;  // the same; null: it is none
  std::unique_ptr<Wire> wire_;
};

}  // namespace cay::http
