#include "vault/relay.h"

#include <boost/beast/http/buffer_body.hpp>
#include <boost/beast/http/string_body.hpp>
#include <utility>

#include "async/deadline.h"
#include "async/scope.h"
#include "base/ascii.h"
#include "codec/json.h"
#include "codec/utf8.h"
#include "http/raw_stream.h"
#include "http/upstream.h"
#include "http/write_message.h"
#include "vault/guest_connection.h"
#include "vault/pass_response.h"
#include "vault/readable.h"
#include "vault/relay_notes.h"
#include "vault/request_inspector.h"
#include "vault/response_scanner.h"
#include "vault/server_connection.h"

namespace cay::vault {
namespace {

namespace bhttp = http::beast::http;
using http::ErrorCode;

constexpr int kSwitching = 101;

// A header that is folded over lines has blanks between them here.
std::string in_one_piece(const std::string& value) {
  std::string out = value;
  std::erase_if(out, [](char c) { return c == ' ' || c == '\t'; });
  return out;
}

Error no_answer() {
  return {Code::kUnavailable, "no_answer",
          "nothing of the request or its answer moved for too long", 0};
}

bool is_bodyless(int status) {
  return status == 204 || status == 304 || (status >= 100 && status < 200);
}

// Returns whether a header concerns only the connection to the server.
bool is_of_connection(std::string_view name) {
  for (const char* own :
       {"Connection", "Keep-Alive", "Proxy-Connection", "Transfer-Encoding", "Content-Length",
        "Trailer", "Upgrade", "Alt-Svc", "Proxy-Authenticate"}) {
    if (equals_ignoring_case(name, own)) return true;
  }
  return false;
}

class Relay {
 public:
  Relay(RelayHouse& house, wire::BrokerHello hello, UniqueFd guest, Tell tell,
        std::function<void()> cancel)
      : house_(house),
        hello_(std::move(hello)),
        guest_fd_(std::move(guest)),
        cancel_(std::move(cancel)),
        inspector_(house.grants, house.encodings, hello_),
        notes_(std::move(tell), hello_.host, hello_.port),
        guest_(house.loop) {}

  asio::awaitable<void> run() {
    const OpenRelays::One one{hello_.sandbox_id,
                              [this](const Granted* now) { return inspector_.may_stay(now); },
                              [this] { cut(); }};
    // Entered before the grant is read, so that no change falls between.
    const auto entered = house_.open.enter(one);
    auto accepted = co_await accept_guest();
    if (!accepted) {
      notes_.refuse(accepted.error());
      co_return;
    }
    for (bool more = true; more;) {
      auto served = co_await serve_request();
      notes_.flush();
      if (!served) co_return;  // the close of the socket resets the connection
      more = *served;
    }
    co_await guest_.end_politely();
  }

 private:
  using Parser = GuestConnection::Parser;

  // Ends the guest's TLS, unless the connection is of way base_url.
  Task<void> accept_guest() {
    if (hello_.host.empty()) {
      guest_.open_plain(std::move(guest_fd_));
      co_return Result<void>();
    }
    const auto granted = house_.grants.of(hello_.sandbox_id);
    if (!granted) co_return rules_unknown();
    if (!granted->authority || !intercepts(granted->grant, hello_.host, hello_.port)) {
      co_return Error{Code::kPermissionDenied, "no_such_rule", "no rule is for this host any more",
                      0};
    }
    CAY_CO_TRY(SSL_CTX* const certificates, granted->authority->context_for(hello_.host));
    auto opening = guest_.open_tls(std::move(guest_fd_), certificates, std::move(hello_.first));
    auto opened = co_await std::move(opening);
    co_return opened;
  }

  // Reads a request, inspects it, dials its server, sends it and relays the response.
  // Returns whether the connection goes on. An error means that it is to be reset.
  Task<bool> serve_request() {
    auto parser = std::make_shared<Parser>();
    auto read = co_await guest_.read_head(*parser);
    if (!read && read.error().reason == "guest_gone") co_return std::move(read).error();
    if (!read) {
      auto answered = co_await answer_error(read.error(), false);
      co_return answered;
    }
    if (!*read) co_return false;
    keep_alive_ = parser->get().keep_alive();
    head_only_ = parser->get().method() == bhttp::verb::head;
    auto inspected = inspector_.inspect(*parser, notes_);
    if (inspector_.is_framing_unclear()) keep_alive_ = false;
    if (!inspected) {
      auto answered = co_await answer_error(inspected.error(), parser->is_done());
      co_return answered;
    }
    head_sent_ = stood_still_ = false;
    still_matters_ = true;
    Scope watching(house_.loop);
    watching.spawn(end_when_still());
    auto relaying = relay_request(parser, *std::move(inspected));
    auto relayed = co_await watching.until(std::move(relaying));
    inspector_.end();
    co_return relayed;
  }

  Task<bool> relay_request(std::shared_ptr<Parser> parser, InspectedRequest request) {
    const ProxyHost to = request.rewritten.to;
    notes_.of(to.host, to.port);
    const bool again = server_ && server_->host == to && server_->is_quiet();
    if (!again) {
      auto dialled = co_await dial_server(to);
      if (!dialled) {
        auto answered = co_await answer_error(dialled.error(), parser->is_done());
        co_return answered;
      }
    }
    http::Upstream upstream(*server_->stream);
    const bool awaits_continue = request.awaits_continue;
    auto sent = co_await send_head(upstream, *parser, std::move(request));
    if (!sent && (stood_still_ || again)) {
      // A server that closed a kept connection meanwhile has answered nothing of this request.
      const Error closed{Code::kUnavailable, "connection_lost",
                         "the server ended its connection: try again", 0};
      server_.reset();
      auto answered = co_await answer_error(stood_still_ ? no_answer() : closed, parser->is_done());
      co_return answered;
    }
    if (!sent) co_return std::move(sent).error();
    notes_.opened();
    Scope body(house_.loop);
    body_over_ = parser->is_done();
    if (!body_over_) body.spawn(send_body(parser, upstream, awaits_continue));
    auto answering = answer(upstream);
    auto answered = co_await body.until(std::move(answering));
    // For the guest's connection the body is over even if the server did not want all of it.
    body_over_ = parser->is_done();
    auto ended = co_await end_request(upstream, std::move(answered));
    co_return ended;
  }

  Task<void> dial_server(ProxyHost to) {
    server_.reset();
    const auto buffers = house_.memory.outside(gate::buffers_told(hello_.buffers));
    auto dialling = dial(house_, std::move(to), hello_.sandbox_id, notes_.address(), buffers);
    CAY_CO_TRY(server_, co_await std::move(dialling));
    co_return Result<void>();
  }

  Task<void> send_head(http::Upstream& upstream, Parser& parser, InspectedRequest request) {
    http::UpstreamRequest ask;
    ask.method = std::move(request.method);
    ask.target = std::move(request.rewritten.target);
    ask.headers = std::move(request.rewritten.headers);
    if (const auto length = parser.content_length()) ask.length = *length;
    ask.chunked = parser.chunked();
    ask.websocket = request.wants_websocket;
    ask.keep = !request.wants_websocket;
    parser.eager(true);  // many small chunks make one piece
    Bytes first = co_await guest_.early_body(parser, request.awaits_continue);
    notes_.sent(request.head_bytes + first.size());
    auto sent = co_await upstream.send_head(std::move(ask), std::move(first), parser.is_done());
    moves_ += 1;
    co_return sent;
  }

  asio::awaitable<void> send_body(std::shared_ptr<Parser> parser, http::Upstream& upstream,
                                  bool awaits_continue) {
    if (awaits_continue) {
      auto told = co_await guest_.send_continue();
      if (!told) co_return;
    }
    for (;;) {
      auto piece = co_await guest_.next_of_body(*parser);
      if (!piece) co_return reset_server();
      if (piece->empty()) break;
      moves_ += 1;
      notes_.sent(piece->size());
      auto sent = co_await upstream.send(*std::move(piece));
      if (!sent) co_return;  // the response has the reason
      moves_ += 1;
      notes_.flush_in_time();
    }
    auto ended = co_await upstream.send(Bytes());
    static_cast<void>(ended);
  }

  // A body that breaks off must not wait for a response.
  void reset_server() {
    if (server_) server_->reset();
  }

  Task<bool> end_request(http::Upstream& upstream, Result<bool> answered) {
    if (!answered && answered.error().reason == "secret_reflected") {
      notes_.refuse(answered.error());
      co_return std::move(answered).error();
    }
    if (!answered && stood_still_) answered = no_answer();
    if (!answered) {
      notes_.failed(answered.error().reason);
      if (head_sent_) co_return std::move(answered).error();
      server_.reset();
      auto told = co_await send_error(answered.error(), body_over_);
      co_return told;
    }
    if (!upstream.can_ask_again()) server_.reset();  // as after every request with a body
    const bool goes_on = *answered && keep_alive_ && body_over_;
    co_return goes_on;
  }

  // Returns whether the response has an end that the guest sees without the end of the connection.
  Task<bool> answer(http::Upstream& upstream) {
    CAY_CO_TRY(const http::UpstreamAnswer got, co_await upstream.read_head());
    moves_ += 1;
    bhttp::response<bhttp::buffer_body> message;
    message.version(11);
    message.result(static_cast<unsigned>(got.status));
    const bool bodyless = head_only_ || is_bodyless(got.status);
    const SecretMatcher& secrets = inspector_.secrets();
    for (const auto& [name, value] : got.headers.items()) {
      if (secrets.finds_in(name) || secrets.finds_in(value) ||
          secrets.finds_in(in_one_piece(value)))
        co_return reflected();
    }
    CAY_CO_CHECK(check_readable(got, !bodyless));
    for (const auto& [name, value] : got.headers.items()) {
      if (!is_of_connection(name)) message.insert(name, value);
      notes_.received(name.size() + value.size());
    }
    if (got.status == kSwitching) {
      auto relayed = co_await switch_over(upstream, std::move(message), boundaries_of(got));
      co_return relayed;
    }
    const bool self_told = got.length.has_value() || !bodyless;
    message.keep_alive(keep_alive_);
    if (got.length) {
      message.content_length(*got.length);
    } else if (!bodyless) {
      message.chunked(true);
    }
    bhttp::response_serializer<bhttp::buffer_body> writer(message);
    message.body().data = nullptr;
    message.body().more = !bodyless;
    ErrorCode error;
    head_sent_ = true;
    co_await http::write_head(*guest_.channel(), writer, error);
    if (error) co_return guest_gone();
    if (bodyless) co_return self_told || is_bodyless(got.status);
    const auto next = [this, &upstream] {
      moves_ += 1;  // the guest has the piece before
      return upstream.next();
    };
    const auto take = [this, &message, &writer](Bytes piece) -> Task<void> {
      notes_.received(piece.size());
      moves_ += 1;
      message.body().data = piece.data();
      message.body().size = piece.size();
      ErrorCode failed;
      co_await http::write_rest(*guest_.channel(), writer, failed);
      if (failed) co_return guest_gone();
      moves_ += 1;
      notes_.flush_in_time();
      co_return Result<void>();
    };
    ResponseScanner scanner(inspector_.secrets(), boundaries_of(got));
    CAY_CO_CHECK(co_await vault::pass(house_.loop, scanner, next, take));
    message.body().data = nullptr;
    message.body().size = 0;
    message.body().more = false;
    co_await http::write_rest(*guest_.channel(), writer, error);
    if (error) co_return guest_gone();
    co_return true;
  }

  // Relays a WebSocket both ways. No extension that packs messages was agreed to, so that a secret
  // in a message is found.
  Task<bool> switch_over(http::Upstream& upstream, bhttp::response<bhttp::buffer_body> message,
                         MessageBoundaries::Kind boundaries) {
    message.set(bhttp::field::connection, "Upgrade");
    message.set(bhttp::field::upgrade, "websocket");
    message.body().more = false;
    bhttp::response_serializer<bhttp::buffer_body> writer(message);
    ErrorCode error;
    head_sent_ = true;
    co_await http::write_head(*guest_.channel(), writer, error);
    if (error) co_return guest_gone();
    const std::shared_ptr<ByteStream> server = upstream.take_stream();
    const auto client = std::make_shared<http::RawStream>(guest_.channel(), guest_.take_early());
    still_matters_ = false;
    Scope out(house_.loop);
    out.spawn(to_server(client, server));
    auto back = to_client(server, client, boundaries);
    auto done = co_await out.until(std::move(back));
    if (!done) co_return std::move(done).error();
    keep_alive_ = false;
    co_return false;
  }

  asio::awaitable<void> to_server(std::shared_ptr<ByteStream> client,
                                  std::shared_ptr<ByteStream> server) {
    for (;;) {
      auto piece = co_await client->read();
      if (!piece) co_return reset_server();
      if (piece->empty()) break;
      notes_.sent(piece->size());
      auto sent = co_await server->write(*std::move(piece));
      if (!sent) co_return;
      notes_.flush_in_time();
    }
    auto ended = co_await server->shut_write();
    static_cast<void>(ended);
  }

  Task<void> to_client(std::shared_ptr<ByteStream> server, std::shared_ptr<ByteStream> client,
                       MessageBoundaries::Kind boundaries) {
    const auto next = [&server] { return server->read(); };
    const auto take = [this, &client](Bytes piece) -> Task<void> {
      notes_.received(piece.size());
      CAY_CO_CHECK(co_await client->write(std::move(piece)));
      notes_.flush_in_time();
      co_return Result<void>();
    };
    ResponseScanner scanner(inspector_.secrets(), boundaries);
    CAY_CO_CHECK(co_await vault::pass(house_.loop, scanner, next, take));
    auto ended = co_await client->shut_write();
    co_return ended;
  }

  // Ends a request or a response of which nothing moves: it would hold its place for as long as the
  // other side likes.
  asio::awaitable<void> end_when_still() {
    // Dialling a server has limits of its own.
    for (std::uint64_t moved = moves_ - 1; moved != moves_ || !still_matters_ || !server_;) {
      moved = moves_;
      co_await sleep_for(house_.most_still);
    }
    stood_still_ = true;
    if (head_sent_) guest_.cut();
    reset_server();
  }

  // The grant changed. Both sides see a reset before this returns.
  void cut() {
    notes_.flush();  // what moved until now
    notes_.refuse(
        Error{Code::kPermissionDenied, "rule_changed", "its proxy rule or secret was changed", 0});
    notes_.stop();
    guest_.cut();
    reset_server();
    const auto cancel = cancel_;
    cancel();  // it may destroy this object
  }

  Task<bool> answer_error(Error why, bool body_over) {
    notes_.refuse(why);
    auto sending = send_error(std::move(why), body_over);
    auto sent = co_await std::move(sending);
    co_return sent;
  }

  // Sends an error in the form that the usual clients show. Returns whether the connection goes on.
  Task<bool> send_error(Error why, bool body_over) {
    const bool ours = why.code == Code::kUnavailable || why.code == Code::kDeadlineExceeded ||
                      why.code == Code::kInternal;
    const int status = why.reason == "token_unknown"         ? 401
                       : why.code == Code::kInvalidArgument  ? 400
                       : why.code == Code::kPermissionDenied ? 403
                       : ours                                ? 502
                                                             : 500;
    const codec::json::object inner{{"type", "cay_vault"},
                                    {"code", why.reason},
                                    {"message", codec::sanitised_utf8(why.message)}};
    bhttp::response<bhttp::string_body> message(static_cast<bhttp::status>(status), 11);
    // Some clients show only the reason phrase.
    if (status == 401) message.reason("Not the token that this sandbox's proxy rule wants");
    if (status == 403) message.reason("Not allowed by this sandbox's proxy rules");
    message.set(bhttp::field::content_type, "application/json");
    message.set("X-Cay-Error", why.reason);
    message.body() = codec::write(codec::json::object{{"error", inner}});
    message.keep_alive(keep_alive_ && body_over);
    message.prepare_payload();
    if (head_only_) message.body().clear();
    ErrorCode error;
    co_await http::write_message(*guest_.channel(), message, error);
    if (error) co_return guest_gone();
    co_return keep_alive_&& body_over;
  }

  RelayHouse& house_;
  wire::BrokerHello hello_;
  UniqueFd guest_fd_;
  std::function<void()> cancel_;
  RequestInspector inspector_;
  RelayNotes notes_;
  GuestConnection guest_;
  std::unique_ptr<ServerConnection> server_;
  bool keep_alive_ = true, head_only_ = false, head_sent_ = false, body_over_ = true;
  std::uint64_t moves_ = 0;    // of the request under way and its response
  bool still_matters_ = true;  // a WebSocket may stand still
  bool stood_still_ = false;
};

}  // namespace

asio::awaitable<void> relay(RelayHouse& house, wire::BrokerHello hello, UniqueFd guest, Tell tell,
                            std::function<void()> cancel) {
  const auto one = std::make_shared<Relay>(house, std::move(hello), std::move(guest),
                                           std::move(tell), std::move(cancel));
  co_await one->run();
}

}  // namespace cay::vault
