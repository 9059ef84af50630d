// LiveExchange: a request and its answer on a server's connection.
#pragma once
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "async/scope.h"
#include "http/body_reader.h"
#include "http/server.h"
#include "http/ws_session.h"

namespace cay::http {

class LiveExchange final : public ServerExchange, public std::enable_shared_from_this<LiveExchange> {
 public:
  // What the connection lends for the time of one request.
  struct Lent {
    std::shared_ptr<Stream> stream;
    std::function<void()> peer_gone;       // cancels the handler
    Scope* scope = nullptr;                // where a WebSocket runs
    const ServerOptions* options = nullptr;
    const bool* closing = nullptr;         // the server is shutting down
  };
  LiveExchange(ParsedRequest request, std::string peer, Lent lent);

  const RequestHead& head() const override { return request_.head; }
  const Principal& principal() const override { return principal_; }
  const std::map<std::string, std::string>& params() const override { return params_; }
  void set_principal(Principal principal) override { principal_ = std::move(principal); }
  void set_params(std::map<std::string, std::string> params) override { params_ = std::move(params); }
  void set_scheme(std::string scheme) override { request_.head.scheme = std::move(scheme); }
  void add_header(std::string name, std::string value) override { extra_.add(std::move(name), std::move(value)); }
  int status() const override { return status_; }

  Task<std::string> read_body(std::size_t limit) override;
  std::unique_ptr<ByteSource> body() override;
  asio::awaitable<void> respond(Response response) override;
  asio::awaitable<void> respond_stream(int status, Headers headers, std::optional<std::uint64_t> length,
                                       std::unique_ptr<ByteSource> bytes) override;
  Task<std::unique_ptr<WebSocket>> upgrade(std::size_t max_message) override;

  // For the connection.
  Task<Bytes> next_piece();
  void watch_if_read();
  bool body_done() const { return body_.done(); }
  bool may_drain() const;          // what is left of the body is small enough to be read and dropped
  bool keep_alive() const { return keep_alive_ && !broken_; }
  bool broken() const { return broken_; }
  const std::shared_ptr<WsSession>& websocket() const { return websocket_; }
  void detach();                   // after the handler: later calls are refused

 private:
  void begin_answer(int status);
  std::string answer_head(int status, const Headers& headers);
  void decide_keep_alive();
  asio::awaitable<void> send_stream(std::optional<std::uint64_t> length, bool chunked,
                                    std::unique_ptr<ByteSource> bytes);
  asio::awaitable<bool> write(std::string_view bytes);
  void limit_read();

  ParsedRequest request_;
  Lent lent_;
  BodyReader body_;
  asio::steady_timer read_timer_;
  std::uint64_t reads_ = 0;     // so that a timer knows whose it was
  bool read_late_ = false;
  Principal principal_;
  std::map<std::string, std::string> params_;
  Headers extra_;
  int status_ = 0;
  bool continue_owed_ = false;  // the client waits for "100 Continue"
  bool keep_alive_ = false;
  bool broken_ = false;
  bool detached_ = false;
  std::shared_ptr<WsSession> websocket_;
};

}  // namespace cay::http
