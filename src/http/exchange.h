// Exchange: one request and its answer. Handlers are coroutines on the daemon's loop.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "async/task.h"
#include "http/message.h"
#include "model/principal.h"

namespace cay::http {

struct WsMessage {
  enum class Kind { kText, kBinary, kTooLong, kClosed } kind = Kind::kClosed;
  // kText: valid UTF-8; kTooLong: a sentence that names the limit; kClosed: the reason.
  std::string data;
  int close_code = 0;  // kClosed: 1005 none, 1006 the connection broke
};

// One WebSocket, server or client side. One caller reads at a time. Pings are answered without the
// reader. Sends may overlap from any coroutine of the loop: they are queued in order. A send
// completes when the kernel has its bytes, so awaiting it is back-pressure.
//
// A message is read as kTooLong as soon as more than the limit has come. Its reader then sends an
// answer and closes with kTooLongCode. The rest of the message is passed over.
class WebSocket {
 public:
  static constexpr int kTooLongCode = 1009;
  virtual ~WebSocket() = default;
  virtual asio::awaitable<WsMessage> read() = 0;  // kClosed for ever after the end
  virtual Task<void> send_text(std::string text) = 0;
  virtual Task<void> send_binary(Bytes data) = 0;
  // Idempotent. Bounded to 5 s; to 30 s more while the peer still sends a message that is too long.
  virtual asio::awaitable<void> close(int code, std::string reason) = 0;
  // Sets the code that closes it if the daemon ends. Without a call it is 1001 (RFC 6455, 7.4.1).
  virtual void at_daemons_end(int code) = 0;
};

class Exchange {
 public:
  virtual ~Exchange() = default;
  virtual const RequestHead& head() const = 0;
  virtual const Principal& principal() const = 0;  // set by the server's auth
  // Path parameters of the matched route ("{name}"), percent-decoded.
  virtual const std::map<std::string, std::string>& params() const = 0;

  // The whole body; kInvalidArgument reason body_too_large past `limit` (answer it with 413).
  virtual Task<std::string> read_body(std::size_t limit) = 0;
  // The body as a stream, for uploads. Honours Expect: 100-continue.
  virtual std::unique_ptr<ByteSource> body() = 0;

  // Answers. Exactly one of respond / respond_stream / upgrade is called, once.
  virtual asio::awaitable<void> respond(Response response) = 0;
  // Streams `bytes` as the body; with a length: Content-Length, else chunked. A source that fails
  // after the head was sent breaks the connection (the client must see the truth). HEAD: no body.
  virtual asio::awaitable<void> respond_stream(int status, Headers headers,
                                               std::optional<std::uint64_t> length,
                                               std::unique_ptr<ByteSource> bytes) = 0;
  // Names the subprotocol (RFC 6455, 1.9) that upgrade() accepts: one that the client offered.
  virtual void choose_protocol(std::string /*name*/) {}
  // To a WebSocket, which reads a message above `max_message` as kTooLong. Declines
  // permessage-deflate.
  virtual Task<std::unique_ptr<WebSocket>> upgrade(std::size_t max_message) = 0;
  // Answers a request that upgrades() with 101 and these headers. From there on only bytes go both
  // ways: to a WebSocket whose handshake another program answered, or to a tunnel. A stream that is
  // dropped before both directions have ended is a reset.
  virtual Task<std::unique_ptr<ByteStream>> upgrade_raw(Headers headers) = 0;
  // Cancelled (asio::cancellation) when the peer goes away while the handler works.

  // Called when the caller has shown a key or a token that is good. If the listener is full,
  // connections that never did give way. Fails: kExhausted (too_many_connections) if the caller has
  // its share of them already. Answer it with 429, and the connection ends then.
  virtual Result<void> let_in(Caller caller) = 0;
  // Called when the right that let the caller in has ended. A WebSocket is closed with 1008 and
  // `why`, and an answer under way is broken off. Returns false if no answer was begun: the
  // connection ends with the answer.
  virtual asio::awaitable<bool> break_off(std::string why) = 0;

  // Names the subject of the request that the path does not name (a command's id, a number of
  // sandboxes), for the record of requests.
  virtual void note_subject(std::string /*what*/) {}

  // How that ended which it became by an upgrade, in words for a record; empty: it has not, or
  // nobody knows.
  virtual std::string how_it_ended() const { return {}; }
  // Sets the same from a caller that knows it better than the connection does.
  virtual void note_end(std::string /*how*/) {}
};

using Handler = std::function<asio::awaitable<void>(std::shared_ptr<Exchange>)>;

}  // namespace cay::http
