#include "vault/relay.h"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <boost/asio/ssl/error.hpp>
#include <boost/beast/http/buffer_body.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <utility>

#include "async/deadline.h"
#include "async/scope.h"
#include "codec/json.h"
#include "codec/utf8.h"
#include "gate/sockets.h"
#include "http/channel.h"
#include "http/raw_stream.h"
#include "http/text.h"
#include "http/upstream.h"
#include "http/write_message.h"
#include "vault/reflection.h"
#include "vault/rules.h"

namespace cay::vault {
namespace {

namespace bhttp = http::beast::http;
using http::Channel;
using http::ErrorCode;
using http::Transport;
using http::to;
using Clock = std::chrono::steady_clock;

constexpr Millis kHandshakeLimit{10'000};
constexpr Millis kDialLimit{10'000};
constexpr Millis kIdleLimit{120'000};      // between two requests
constexpr Millis kCloseLimit{2'000};
constexpr Millis kTellEvery{1'000};
constexpr std::uint32_t kMostHead = 64 * 1024;
constexpr std::size_t kPiece = 64 * 1024;
constexpr int kSwitching = 101;

Error lost() { return {Code::kCancelled, "guest_gone", "the client left", 0}; }

Transport transport_of(const asio::any_io_executor& loop, UniqueFd fd, int family) {
  asio::generic::stream_protocol::socket socket(loop, asio::generic::stream_protocol(family, IPPROTO_TCP), fd.release());
  return Transport(std::move(socket));
}

int family_of(int fd) {
  int family = AF_INET;
  socklen_t size = sizeof family;
  ::getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &family, &size);
  return family;
}

// A stand-in is nobody's address.
std::string shown(const IpAddress& address) { return gate::UpstreamProxy::stand_ins().contains(address) ? "" : address.text(); }

bool is_bodyless(int status) { return status == 204 || status == 304 || (status >= 100 && status < 200); }

// What concerns the connection to the server alone.
bool is_of_connection(std::string_view name) {
  for (const char* own : {"Connection", "Keep-Alive", "Proxy-Connection", "Transfer-Encoding", "Content-Length", "Trailer", "Upgrade", "Alt-Svc", "Proxy-Authenticate"}) {
    if (http::equals_ignoring_case(name, own)) return true;
  }
  return false;
}

// Whether a server that was asked before has neither ended the connection nor said anything since.
bool is_quiet(Channel& channel) {
  char byte = 0;
  return ::recv(channel.next_layer().socket().native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0 && errno == EAGAIN;
}

// The server of a rule, for as long as it is asked for the same.
struct Outside {
  ProxyHost host;
  std::string address;
  std::shared_ptr<Channel> channel;
  std::unique_ptr<http::RawStream> stream;
};

class Relay {
 public:
  Relay(RelayHouse& house, wire::BrokerHello hello, UniqueFd guest, Tell tell)
      : house_(house), hello_(std::move(hello)), guest_fd_(std::move(guest)), tell_(std::move(tell)) {
    word_.host = hello_.host;
    word_.port = hello_.port;
  }

  asio::awaitable<void> run() {
    auto opened = co_await open_guest();
    if (!opened) {
      refuse(opened.error());
      co_return;
    }
    for (bool more = true; more;) {
      auto served = co_await serve_one();
      flush();
      if (!served) co_return;  // reset by its close
      more = *served;
    }
    co_await end_politely();
  }

 private:
  using Parser = bhttp::request_parser<bhttp::buffer_body>;

  // TLS is ended, unless it is way base_url.
  Task<void> open_guest() {
    const int family = family_of(guest_fd_.get());
    auto transport = transport_of(house_.loop, std::move(guest_fd_), family);
    if (hello_.host.empty()) {
      guest_ = std::make_shared<Channel>(std::move(transport));
      co_return Result<void>();
    }
    const auto granted = house_.grants.of(hello_.sandbox_id);
    if (!granted || !granted->authority || !intercepts(granted->grant, hello_.host, hello_.port)) {
      co_return Error{Code::kPermissionDenied, "no_such_rule", "no rule is for this host any more", 0};
    }
    CAY_CO_TRY(SSL_CTX* const made, granted->authority->context_for(hello_.host));
    SSL_CTX_up_ref(made);
    asio::ssl::context context(made);
    guest_ = std::make_shared<Channel>(std::move(transport), context);
    auto shaking = shake_hands();
    auto done = co_await with_deadline(std::move(shaking), kHandshakeLimit, "the handshake");
    co_return done;
  }

  Task<void> shake_hands() {
    ErrorCode error;
    co_await guest_->secured()->async_handshake(asio::ssl::stream_base::server, asio::buffer(hello_.first), to(error));
    if (!error) co_return Result<void>();
    // The client's own word, where it said one: "unknown ca" is one that does not trust the sandbox's authority.
    co_return Error{Code::kUnavailable, "authority_not_trusted", "no TLS with the client: " + error.message(), 0};
  }

  // False: the connection is over. An error: it is to be reset.
  Task<bool> serve_one() {
    auto parser = std::make_shared<Parser>();
    parser->header_limit(kMostHead);
    parser->body_limit(boost::none);
    ErrorCode error;
    guest_->next_layer().expires_after(kIdleLimit);
    co_await bhttp::async_read_header(*guest_, buffer_, *parser, to(error));
    guest_->next_layer().expires_never();
    if (error == bhttp::error::end_of_stream || error == asio::ssl::error::stream_truncated || error == http::beast::error::timeout) co_return false;
    if (error && error.category() != bhttp::make_error_code(bhttp::error::bad_method).category()) co_return lost();
    if (error) {
      const Error why{Code::kInvalidArgument, "bad_request", "the request is not proper HTTP/1.1: " + error.message(), 0};
      auto told = co_await answer_error(why, false, false);
      co_return told;
    }
    keep_alive_ = parser->get().keep_alive();
    head_only_ = parser->get().method() == bhttp::verb::head;
    auto rewritten = rewrite_of(*parser);
    if (!rewritten) {
      auto told = co_await answer_error(rewritten.error(), parser->is_done(), true);
      co_return told;
    }
    auto passed = co_await pass(parser, *std::move(rewritten));
    co_return passed;
  }

  Result<Rewritten> rewrite_of(const Parser& parser) {
    const auto granted = house_.grants.of(hello_.sandbox_id);
    if (!granted) return Error{Code::kPermissionDenied, "no_such_rule", "this sandbox may use no secret any more", 0};
    const auto& message = parser.get();
    Asked asked;
    asked.host = hello_.host;
    asked.port = hello_.port;
    asked.target = std::string(message.target());
    for (const auto& field : message) asked.headers.add(std::string(field.name_string()), std::string(field.value()));
    wants_websocket_ = http::list_has(asked.headers.get("Upgrade").value_or(""), "websocket") && message.method() == bhttp::verb::get;
    return rewrite(granted->grant, asked, [this](const wire::VaultSecret& secret) { return house_.keys.unseal(about_secret(secret), secret.sealed); });
  }

  Task<void> reach(ProxyHost host) {
    auto found = co_await house_.resolver.resolve(host.host, this);
    if (found.addresses.empty()) {
      const bool failed = found.outcome == gate::Resolved::Outcome::kFailed;
      co_return Error{Code::kUnavailable, failed ? "lookup_failed" : "name_not_found", host.host + " was not found", 0};
    }
    Error last{Code::kPermissionDenied, "private_address", host.host + " is at a private address, which sandboxes do not reach", 0};
    word_.address = shown(found.addresses.front());
    for (std::size_t i = 0; i < found.addresses.size(); ++i) {
      const IpAddress address = found.addresses[i];
      if (house_.reachable.look_at(address) != gate::Reachable::May::kDial) continue;
      word_.address = shown(address);
      const gate::Endpoint at{address, host.port};
      auto dialled = co_await house_.proxy.reach(house_.loop, house_.resolver, host.host, at, {}, kDialLimit);
      if (!dialled && dialled.error().reason.starts_with("proxy_")) {
        last = std::move(dialled).error();
        continue;
      }
      if (dialled && !dialled->early.empty()) {
        last = Error{Code::kUnavailable, "tls_failed", host.text() + " speaks before it is spoken to, which a server by TLS does not", 0};
        continue;
      }
      if (!dialled) {
        const bool late = dialled.error().code == Code::kDeadlineExceeded;
        last = Error{Code::kUnavailable, late ? "no_answer" : "unreachable", host.text() + " cannot be reached: " + dialled.error().message, 0};
        continue;
      }
      const int fd = dialled->socket.get();
      gate::tune(fd);
      Outside made{host, word_.address, std::make_shared<Channel>(transport_of(house_.loop, std::move(dialled->socket), family_of(fd)), house_.tls.context()), nullptr};
      auto shaking = house_.tls.handshake(*made.channel, host.host);
      CAY_CO_CHECK(co_await with_deadline(std::move(shaking), kHandshakeLimit, "the handshake with " + host.host));
      made.stream = std::make_unique<http::RawStream>(made.channel, Bytes());
      outside_ = std::make_unique<Outside>(std::move(made));
      co_return Result<void>();
    }
    co_return last;
  }

  // One request and its answer.
  Task<bool> pass(std::shared_ptr<Parser> parser, Rewritten request) {
    word_.host = request.to.host;
    word_.port = request.to.port;
    const bool again = outside_ && outside_->host == request.to && is_quiet(*outside_->channel);
    if (!again) {
      outside_.reset();
      auto reached = co_await reach(request.to);
      if (!reached) {
        auto told = co_await answer_error(reached.error(), parser->is_done(), true);
        co_return told;
      }
    }
    ReflectionWatch watch;
    for (const Wiped& secret : request.secrets) watch.look_for(secret.view());
    http::Upstream upstream(*outside_->stream);
    http::UpstreamRequest ask;
    ask.method = std::string(parser->get().method_string());
    ask.target = request.target;
    ask.headers = std::move(request.headers);
    if (const auto length = parser->content_length()) ask.length = *length;
    ask.chunked = parser->chunked();
    ask.websocket = wants_websocket_;
    ask.keep = !wants_websocket_;
    const bool continues = http::equals_ignoring_case(parser->get()[bhttp::field::expect], "100-continue");
    word_.sent += ask.target.size();
    auto sent = co_await upstream.send_head(std::move(ask));
    if (!sent && again) {  // it had been closed meanwhile: nothing of this request was answered
      outside_.reset();
      const Error closed{Code::kUnavailable, "connection_lost", "the server ended its connection: try again", 0};
      auto told = co_await answer_error(closed, parser->is_done(), true);
      co_return told;
    }
    if (!sent) co_return std::move(sent).error();
    told_of_ = true;
    flush();
    Scope body(house_.loop);
    body_over_ = parser->is_done();
    if (!body_over_) body.spawn(send_body(parser, upstream, continues));
    auto answering = answer(upstream, watch);
    auto answered = co_await body.until(std::move(answering));
    if (!answered && answered.error().reason == "secret_reflected") {
      refuse(answered.error());
      co_return std::move(answered).error();
    }
    if (!answered) {
      told_of_ = answered.error().reason != "guest_gone";
      if (told_of_) word_.reason = answered.error().reason;
      flush();
      if (head_sent_) co_return std::move(answered).error();
      outside_.reset();
      auto told = co_await answer_error(answered.error(), body_over_, false);
      co_return told;
    }
    if (!upstream.can_ask_again() || !body_over_) outside_.reset();
    co_return *answered && keep_alive_ && body_over_;
  }

  asio::awaitable<void> send_body(std::shared_ptr<Parser> parser, http::Upstream& upstream, bool continues) {
    if (continues) {
      bhttp::response<bhttp::empty_body> go_on(bhttp::status::continue_, 11);
      ErrorCode error;
      co_await http::write_message(*guest_, go_on, error);
      if (error) co_return;
    }
    Bytes piece;
    while (!parser->is_done()) {
      piece.resize(kPiece);
      auto& body = parser->get().body();
      body.data = piece.data();
      body.size = piece.size();
      body.more = true;
      ErrorCode error;
      co_await bhttp::async_read_some(*guest_, buffer_, *parser, to(error));
      if (error && error != bhttp::error::need_buffer) co_return give_up_guest();
      piece.resize(kPiece - body.size);
      if (piece.empty()) continue;
      word_.sent += piece.size();
      auto sent = co_await upstream.send(std::exchange(piece, Bytes()));
      if (!sent) co_return;  // its answer tells why
      flush_in_time();
    }
    auto ended = co_await upstream.send(Bytes());
    body_over_ = ended.has_value();
  }

  // A body that breaks off must not wait for an answer.
  void give_up_guest() {
    if (outside_) http::RawStream::reset(*outside_->channel);
  }

  // True: the answer told its own end.
  Task<bool> answer(http::Upstream& upstream, ReflectionWatch& watch) {
    head_sent_ = false;
    CAY_CO_TRY(const http::UpstreamAnswer got, co_await upstream.read_head());
    bhttp::response<bhttp::buffer_body> message;
    message.version(11);
    message.result(static_cast<unsigned>(got.status));
    for (const auto& [name, value] : got.headers.items()) {
      if (watch.holds(name) || watch.holds(value)) co_return reflected();
      if (http::equals_ignoring_case(name, "Content-Encoding") && !http::equals_ignoring_case(value, "identity") && !head_only_ && !is_bodyless(got.status)) {
        co_return Error{Code::kUnavailable, "answer_unreadable", "the server packed its answer (" + value + ") although it was asked not to: a secret could be in it", 0};
      }
      if (!is_of_connection(name)) message.insert(name, value);
      word_.received += name.size() + value.size();
    }
    if (got.status == kSwitching) {
      auto relayed = co_await switch_over(upstream, watch, std::move(message));
      co_return relayed;
    }
    const bool bodyless = head_only_ || is_bodyless(got.status);
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
    co_await http::write_head(*guest_, writer, error);
    if (error) co_return lost();
    if (bodyless) co_return self_told || is_bodyless(got.status);
    for (;;) {
      CAY_CO_TRY(Bytes piece, co_await upstream.next());
      const bool end = piece.empty();
      if (end) {
        piece = watch.rest();
      } else {
        auto fine = watch.pass(std::move(piece));
        if (!fine) co_return reflected();
        piece = *std::move(fine);
        if (piece.empty()) continue;
      }
      word_.received += piece.size();
      message.body().data = piece.empty() ? nullptr : piece.data();
      message.body().size = piece.size();
      message.body().more = !end;
      co_await http::write_rest(*guest_, writer, error);
      if (error) co_return lost();
      if (end) co_return true;
      flush_in_time();
    }
  }

  static Error reflected() {
    return {Code::kPermissionDenied, "secret_reflected", "the server's answer held the secret itself: it was cut", 0};
  }

  // A WebSocket: bytes both ways. Packed messages were not agreed to, so a secret in an answer is seen.
  Task<bool> switch_over(http::Upstream& upstream, ReflectionWatch& watch, bhttp::response<bhttp::buffer_body> message) {
    message.set(bhttp::field::connection, "Upgrade");
    message.set(bhttp::field::upgrade, "websocket");
    message.body().more = false;
    bhttp::response_serializer<bhttp::buffer_body> writer(message);
    ErrorCode error;
    head_sent_ = true;
    co_await http::write_head(*guest_, writer, error);
    if (error) co_return lost();
    const std::shared_ptr<ByteStream> server = upstream.take_stream();
    const auto early = buffer_.data();
    Bytes first(static_cast<const char*>(early.data()), early.size());
    buffer_.consume(early.size());
    const auto client = std::make_shared<http::RawStream>(guest_, std::move(first));
    Scope out(house_.loop);
    out.spawn(to_server(client, server));
    auto back = to_client(server, client, watch);
    auto done = co_await out.until(std::move(back));
    if (!done) co_return std::move(done).error();
    keep_alive_ = false;
    co_return false;
  }

  asio::awaitable<void> to_server(std::shared_ptr<ByteStream> client, std::shared_ptr<ByteStream> server) {
    for (;;) {
      auto piece = co_await client->read();
      if (!piece) co_return give_up_guest();
      if (piece->empty()) break;
      word_.sent += piece->size();
      auto sent = co_await server->write(*std::move(piece));
      if (!sent) co_return;
      flush_in_time();
    }
    auto ended = co_await server->shut_write();
    static_cast<void>(ended);
  }

  Task<void> to_client(std::shared_ptr<ByteStream> server, std::shared_ptr<ByteStream> client, ReflectionWatch& watch) {
    for (;;) {
      CAY_CO_TRY(Bytes piece, co_await server->read());
      if (piece.empty()) break;
      auto fine = watch.pass(std::move(piece));
      if (!fine) co_return reflected();
      if (fine->empty()) continue;
      word_.received += fine->size();
      CAY_CO_CHECK(co_await client->write(*std::move(fine)));
      flush_in_time();
    }
    Bytes last = watch.rest();
    if (!last.empty()) {
      CAY_CO_CHECK(co_await client->write(std::move(last)));
    }
    auto ended = co_await client->shut_write();
    co_return ended;
  }

  // Told to the program inside, in the shape that the usual clients show. False: the connection ends with it.
  Task<bool> answer_error(Error why, bool body_over, bool note) {
    if (note) refuse(why);
    const bool ours = why.code == Code::kUnavailable || why.code == Code::kDeadlineExceeded || why.code == Code::kInternal;
    const int status = why.reason == "token_unknown" ? 401 : why.code == Code::kInvalidArgument ? 400 : why.code == Code::kPermissionDenied ? 403 : ours ? 502 : 500;
    const codec::json::object inner{{"type", "cay_vault"}, {"code", why.reason}, {"message", codec::sanitised_utf8(why.message)}};
    bhttp::response<bhttp::string_body> message(static_cast<bhttp::status>(status), 11);
    message.set(bhttp::field::content_type, "application/json");
    message.set("X-Cay-Error", why.reason);
    message.body() = codec::write(codec::json::object{{"error", inner}});
    message.keep_alive(keep_alive_ && body_over);
    message.prepare_payload();
    if (head_only_) message.body().clear();
    ErrorCode error;
    co_await http::write_message(*guest_, message, error);
    if (error) co_return lost();
    co_return keep_alive_ && body_over;
  }

  // Both sides have said all: a reset would be a lie.
  asio::awaitable<void> end_politely() {
    const int fd = guest_->next_layer().socket().native_handle();
    if (guest_->secured() != nullptr) {
      auto closing = close_tls();
      auto closed = co_await with_deadline(std::move(closing), kCloseLimit, "the end");
      static_cast<void>(closed);
    }
    if (::shutdown(fd, SHUT_WR) != 0) co_return;
    auto arriving = arrive(fd);
    auto arrived = co_await with_deadline(std::move(arriving), kIdleLimit, "the end");
    if (arrived) gate::on_close(fd, gate::OnClose::kFinish);
  }
  Task<void> close_tls() {
    ErrorCode error;
    co_await guest_->secured()->async_shutdown(to(error));
    co_return Result<void>();
  }
  static Task<void> arrive(int fd) {
    co_await gate::delivered(fd);
    co_return Result<void>();
  }

  void refuse(const Error& why) {
    if (why.reason == "guest_gone" || why.reason == "deadline_exceeded") return;
    word_.reason = why.reason;
    word_.refused = why.code == Code::kPermissionDenied || why.code == Code::kInvalidArgument;
    told_of_ = true;
    flush();
  }

  void flush() {
    if (!told_of_ && word_.sent == 0 && word_.received == 0) return;
    word_.opened = std::exchange(told_of_, false);
    tell_(word_);
    word_.reason.clear();
    word_.refused = false;
    word_.sent = word_.received = 0;
    told_at_ = Clock::now();
  }
  void flush_in_time() {
    if (Clock::now() - told_at_ >= kTellEvery) flush();
  }

  RelayHouse& house_;
  wire::BrokerHello hello_;
  UniqueFd guest_fd_;
  Tell tell_;
  wire::BrokerWord word_;
  bool told_of_ = false;  // there is something to tell beside bytes
  Clock::time_point told_at_ = Clock::now();
  std::shared_ptr<Channel> guest_;
  http::beast::flat_buffer buffer_{kMostHead + kPiece};
  std::unique_ptr<Outside> outside_;
  bool keep_alive_ = true, head_only_ = false, head_sent_ = false, wants_websocket_ = false, body_over_ = true;
};

}  // namespace

asio::awaitable<void> relay(RelayHouse& house, wire::BrokerHello hello, UniqueFd guest, Tell tell) {
  const auto one = std::make_shared<Relay>(house, std::move(hello), std::move(guest), std::move(tell));
  co_await one->run();
}

}  // namespace cay::vault
