// GuestConnection: the guest's side of a relay: its TLS, its requests and the end of its
// connection.
//
// The guest is hostile. Each wait for it has a limit.
#pragma once
#include <openssl/ssl.h>

#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/buffer_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <memory>
#include <string>

#include "async/task.h"
#include "base/unique_fd.h"
#include "http/channel.h"

namespace cay::vault {

class GuestConnection {
 public:
  using Parser = http::beast::http::request_parser<http::beast::http::buffer_body>;

  explicit GuestConnection(asio::any_io_executor loop) : loop_(std::move(loop)) {}

  // Without TLS, for way base_url.
  void open_plain(UniqueFd socket);
  // Ends the guest's TLS. `first` are the bytes that the gate has read.
  // Fails: kUnavailable (authority_not_trusted), kDeadlineExceeded.
  Task<void> open_tls(UniqueFd socket, SSL_CTX* certificates, std::string first);

  // Reads the head of the next request. Returns false if the guest ended the connection or sends
  // nothing for too long. Fails: kInvalidArgument (bad_request), kCancelled (guest_gone).
  Task<bool> read_head(Parser& parser);
  // Returns what the guest sends of the body right away, so that it can go with the head.
  // A guest that waits for the status 100 (`waits`) sends nothing.
  asio::awaitable<Bytes> early_body(Parser& parser, bool waits);
  // Sends "100 Continue" to a guest that waits for it before it sends the body.
  Task<void> send_continue();
  // Returns the next piece of the body. An empty one is the end.
  Task<Bytes> next_of_body(Parser& parser);
  // Returns the bytes that were read behind a head.
  Bytes take_early();

  // Null until it is open.
  const std::shared_ptr<http::Channel>& channel() const { return channel_; }
  // The guest sees a reset before this returns: the gate holds the socket too (gate/handed_over.h).
  void cut();
  // Ends the connection without a reset, once the guest has received everything.
  asio::awaitable<void> end_politely();

 private:
  Task<void> shake_hands(std::string first);
  Task<void> wait_for_bytes();
  Bytes parse_body(Parser& parser, http::ErrorCode& error);
  Task<void> close_tls();

  asio::any_io_executor loop_;
  std::shared_ptr<http::Channel> channel_;
  http::beast::flat_buffer buffer_;
  Bytes unparsed_;  // of the body under way
};

Error guest_gone();

}  // namespace cay::vault
