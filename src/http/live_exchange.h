// LiveExchange: one request on one connection, and its response. It joins the reader of the body,
// the writer of the response and what the connection becomes by an upgrade.
#pragma once
#include <functional>
#include <memory>
#include <optional>

#include "http/body_reader.h"
#include "http/listener.h"
#include "http/read_buffer.h"
#include "http/request_connection.h"
#include "http/request_head.h"
#include "http/response_writer.h"
#include "http/socket.h"
#include "http/upgraded_connection.h"

namespace cay::http {

class LiveExchange final : public Exchange, public std::enable_shared_from_this<LiveExchange> {
 public:
  // Called each time a caller on the connection was let in.
  using OnLetIn = std::function<Result<void>(Caller)>;
  // Called when the connection has become a WebSocket: the listener keeps it for its end.
  using OnSocket = std::function<std::function<void()>(std::shared_ptr<SocketCore>)>;

  LiveExchange(Channel& channel, ReadBuffer& buffer, RequestParser& parser, RequestHead head,
               const ListenerConfig& config, const bool& ending, OnSocket on_socket,
               OnLetIn on_let_in);

  const RequestHead& head() const override { return head_; }
  const Principal& principal() const override { return principal_; }
  const std::map<std::string, std::string>& params() const override { return params_; }
  Result<void> let_in(Caller caller) override;
  asio::awaitable<bool> break_off(std::string why) override;
  std::string how_it_ended() const override { return upgraded_to_.how_it_ended(); }
  Task<std::string> read_body(std::size_t limit) override;
  std::unique_ptr<ByteSource> body() override;
  asio::awaitable<void> respond(Response response) override;
  asio::awaitable<void> respond_stream(int status, Headers headers,
                                       std::optional<std::uint64_t> length,
                                       std::unique_ptr<ByteSource> bytes) override;
  void choose_protocol(std::string name) override { protocol_ = std::move(name); }
  Task<std::unique_ptr<WebSocket>> upgrade(std::size_t max_message) override;
  Task<std::unique_ptr<ByteStream>> upgrade_raw(Headers headers) override;

  RequestConnection& connection() { return connection_; }
  BodyReader& body_reader() { return body_; }
  // The connection is needed for another's: it ends now, whatever was begun; a WebSocket with 1013
  // and `why`.
  static asio::awaitable<void> give_way(std::shared_ptr<LiveExchange> self, std::string why);
  bool answered() const { return answered_; }
  bool upgraded() const { return upgraded_; }

 private:
  // Returns false if there is nobody to answer, or if the request was answered.
  bool begin_response();

  const RequestHead head_;
  ReadBuffer& buffer_;
  RequestParser& parser_;
  const bool& ending_;  // the listener's: no more requests on this connection
  OnSocket on_socket_;
  OnLetIn on_let_in_;
  Principal principal_;
  std::map<std::string, std::string> params_;
  std::string protocol_;  // of the WebSocket; empty: none
  RequestConnection connection_;
  BodyReader body_;
  ResponseWriter response_;
  UpgradedConnection upgraded_to_;
  bool answered_ = false;
  bool upgraded_ = false;
};

}  // namespace cay::http
