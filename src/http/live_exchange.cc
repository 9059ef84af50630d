#include "http/live_exchange.h"

#include <boost/beast/core/buffers_to_string.hpp>
#include <boost/beast/http/empty_body.hpp>

#include <utility>

#include "http/raw_stream.h"

namespace cay::http {
namespace {

constexpr int kNormal = 1000;
constexpr int kPolicyViolation = 1008;
constexpr int kTryAgainLater = 1013;

}  // namespace

LiveExchange::LiveExchange(Channel& channel, ReadBuffer& buffer, RequestParser& parser,
                           RequestHead head, const ListenerConfig& config, const bool& ending,
                           OnSocket on_socket, OnLetIn on_let_in)
    : head_(std::move(head)),
      buffer_(buffer),
      parser_(parser),
      ending_(ending),
      on_socket_(std::move(on_socket)),
      on_let_in_(std::move(on_let_in)),
      connection_(channel, config, parser.get().keep_alive()),
      body_(connection_, buffer, parser, head_),
      response_(connection_, head_, parser.get().version()) {}

Result<void> LiveExchange::let_in(Caller caller) {
  auto had = on_let_in_(std::move(caller));
  if (!had) connection_.close_after();
  return had;
}

asio::awaitable<bool> LiveExchange::break_off(std::string why) {
  connection_.break_off();
  auto ended = co_await upgraded_to_.end(kPolicyViolation, std::move(why));
  if (!ended && answered_) connection_.reset();
  co_return answered_;
}

asio::awaitable<void> LiveExchange::give_way(std::shared_ptr<LiveExchange> self, std::string why) {
  self->connection_.close_after();
  auto ended = co_await self->upgraded_to_.end(kTryAgainLater, std::move(why));
  if (!ended) self->connection_.reset();
}

Task<std::string> LiveExchange::read_body(std::size_t limit) { return body_.read_all(limit); }

std::unique_ptr<ByteSource> LiveExchange::body() {
  return body_source(std::shared_ptr<BodyReader>(shared_from_this(), &body_));
}

bool LiveExchange::begin_response() {
  if (connection_.is_gone() || answered_) return false;
  answered_ = true;
  // A body that was not read to its end makes the connection unfit, unless little is left of it.
  if (!body_.fits_drain() || ending_) connection_.close_after();
  return true;
}

asio::awaitable<void> LiveExchange::respond(Response response) {
  if (!begin_response()) co_return;
  co_await response_.write(std::move(response));
}

asio::awaitable<void> LiveExchange::respond_stream(int status, Headers headers,
                                                   std::optional<std::uint64_t> length,
                                                   std::unique_ptr<ByteSource> bytes) {
  if (!begin_response()) co_return;
  co_await response_.write_stream(status, std::move(headers), length, std::move(bytes));
}

Task<std::unique_ptr<WebSocket>> LiveExchange::upgrade(std::size_t max_message) {
  if (connection_.is_gone() || answered_) co_return client_gone();
  beast::http::request<beast::http::empty_body> request(parser_.get().base());
  if (!beast::websocket::is_upgrade(request) || request["Sec-WebSocket-Version"] != "13" ||
      request["Sec-WebSocket-Key"].empty()) {
    co_return Error{Code::kInvalidArgument, "bad_upgrade",
                    "this is not a WebSocket handshake (RFC 6455)", 0};
  }
  // Every client repeats its request after this answer. Some would take the immediate close of a
  // WebSocket for the end of their work.
  if (ending_) {
    Response refusal{.status = 503, .headers = {}, .body = ""};
    refusal.headers.set("Retry-After", "1");
    co_await respond(std::move(refusal));
    co_return Error{Code::kUnavailable, "shutting_down",
                    "the daemon is ending: try again when it is back", 0};
  }
  answered_ = true;
  upgraded_ = true;
  connection_.close_after();
  BeastSocket stream(TolerantTransport(connection_.take()));
  prepare(stream);
  const ErrorCode error = co_await accept_websocket(stream, request, protocol_);
  if (error)
    co_return Error{Code::kInvalidArgument, "bad_upgrade",
                    "the WebSocket handshake failed: " + error.message(), 0};
  auto core = std::make_shared<SocketCore>(std::move(stream), SocketCore::Side::kServer,
                                           max_message, connection_.config().socket_idle);
  upgraded_to_.become(core);
  auto on_close = on_socket_(core);
  // The listener's end began while we shook hands: it knew nothing of this socket.
  if (ending_) {
    core->at_daemons_end(kNormal);  // nothing was begun on it
    core->left();
    co_await Socket::end_of(core);
  } else if (connection_.is_broken_off()) {
    co_await Socket::close_of(core, kPolicyViolation, upgraded_to_.why());
  }
  std::function<void()> told = [self = weak_from_this(), core = core.get(),
                                on_close = std::move(on_close)] {
    if (const auto exchange = self.lock()) exchange->upgraded_to_.note_end(core->how_it_ended());
    if (on_close) on_close();
  };
  co_return std::unique_ptr<WebSocket>(std::make_unique<Socket>(std::move(core), std::move(told)));
}

Task<std::unique_ptr<ByteStream>> LiveExchange::upgrade_raw(Headers headers) {
  if (connection_.is_gone() || answered_) co_return client_gone();
  // Somebody may be reading the body: the channel must not go from under them.
  if (!body_.is_over())
    co_return Error{Code::kInvalidArgument, "bad_upgrade",
                    "a request with a body cannot change its protocol", 0};
  answered_ = true;
  upgraded_ = true;
  connection_.close_after();
  CAY_CO_CHECK(co_await response_.switch_protocols(std::move(headers)));
  auto channel = std::make_shared<Channel>(connection_.take());
  upgraded_to_.become(channel);
  if (connection_.is_broken_off()) RawStream::reset(*channel);  // while the answer was written
  auto stream =
      std::make_unique<RawStream>(std::move(channel), beast::buffers_to_string(buffer_.data()));
  stream->on_end([self = weak_from_this()](bool whole) {
    if (const auto exchange = self.lock()) exchange->upgraded_to_.note_raw_end(whole);
  });
  co_return std::unique_ptr<ByteStream>(std::move(stream));
}

}  // namespace cay::http
