#include "vault/relay.h"

#include <sys/socket.h>

#include <algorithm>
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
#include "gate/requests.h"
#include "gate/sockets.h"
#include "http/raw_stream.h"
#include "http/request_head.h"
#include "http/text.h"
#include "http/upstream.h"
#include "http/write_message.h"
#include "vault/connection_authorization.h"
#include "vault/pass_response.h"
#include "vault/readable.h"
#include "vault/relay_notes.h"
#include "vault/response_scanner.h"
#include "vault/rules.h"
#include "vault/server_connection.h"

namespace cay::vault {
namespace {

namespace bhttp = http::beast::http;
using http::Channel;
using http::ErrorCode;
using http::to;

constexpr Millis kHandshakeLimit{10'000};
constexpr Millis kIdleLimit{120'000};  // between two requests
constexpr Millis kCloseLimit{2'000};
constexpr Millis kBodyLimit{20};  // how long a head waits for the first of its body
constexpr std::uint32_t kMostHead = 64 * 1024;
constexpr std::size_t kMostFields = 128;  // as of requests to the daemon
constexpr std::size_t kPiece = 64 * 1024;

// A header may be folded over lines, which are parted by blanks when it comes here.
std::string in_one_piece(const std::string& value) {
  std::string out = value;
  std::erase_if(out, [](char c) { return c == ' ' || c == '\t'; });
  return out;
}
constexpr int kSwitching = 101;

Error lost() { return {Code::kCancelled, "guest_gone", "the client left", 0}; }

Error no_answer() {
  return {Code::kUnavailable, "no_answer",
          "nothing of the request or its answer moved for too long", 0};
}

Error rules_unknown() {
  return {Code::kUnavailable, "rules_unknown",
          "the broker has no rules of this sandbox: they were taken away, or what it kept of them "
          "cannot be opened and the daemon has not told them anew",
          0};
}

bool is_bodyless(int status) {
  return status == 204 || status == 304 || (status >= 100 && status < 200);
}

// What concerns the connection to the server alone.
bool is_of_connection(std::string_view name) {
  for (const char* own :
       {"Connection", "Keep-Alive", "Proxy-Connection", "Transfer-Encoding", "Content-Length",
        "Trailer", "Upgrade", "Alt-Svc", "Proxy-Authenticate"}) {
    if (http::equals_ignoring_case(name, own)) return true;
  }
  return false;
}

// What the guest itself says in a head: its bytes may carry something out, whatever they are.
template <class Head>
std::size_t said_in(const Head& head) {
  std::size_t out = head.method_string().size() + head.target().size();
  for (const auto& field : head) out += field.name_string().size() + field.value().size();
  return out;
}

class Relay {
 public:
  Relay(RelayHouse& house, wire::BrokerHello hello, UniqueFd guest, Tell tell,
        std::function<void()> cancel)
      : house_(house),
        hello_(std::move(hello)),
        guest_fd_(std::move(guest)),
        cancel_(std::move(cancel)),
        authorization_(hello_.host, hello_.port),
        notes_(std::move(tell), hello_.host, hello_.port) {}

  asio::awaitable<void> run() {
    const OpenRelays::One one{
        hello_.sandbox_id, [this](const Granted* now) { return may_stay(now); }, [this] { cut(); }};
    const auto entered =
        house_.open.enter(one);  // before the grant is looked at: no change falls between
    auto opened = co_await open_guest();
    if (!opened) {
      notes_.refuse(opened.error());
      co_return;
    }
    for (bool more = true; more;) {
      auto served = co_await serve_one();
      notes_.flush();
      if (!served) co_return;  // reset by its close
      more = *served;
    }
    co_await end_politely();
  }

 private:
  using Parser = bhttp::request_parser<bhttp::buffer_body>;

  // TLS is ended, unless it is way base_url.
  Task<void> open_guest() {
    auto transport = transport_of(house_.loop, std::move(guest_fd_));
    if (hello_.host.empty()) {
      guest_ = std::make_shared<Channel>(std::move(transport));
      co_return Result<void>();
    }
    const auto granted = house_.grants.of(hello_.sandbox_id);
    if (!granted) co_return rules_unknown();
    if (!granted->authority || !intercepts(granted->grant, hello_.host, hello_.port)) {
      co_return Error{Code::kPermissionDenied, "no_such_rule", "no rule is for this host any more",
                      0};
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
    co_await guest_->secured()->async_handshake(asio::ssl::stream_base::server,
                                                asio::buffer(hello_.first), to(error));
    if (!error) co_return Result<void>();
    // The client's own word, where it said one: "unknown ca" is one that does not trust the
    // sandbox's authority.
    co_return Error{Code::kUnavailable, "authority_not_trusted",
                    "no TLS with the client: " + error.message(), 0};
  }

  // False: the connection is over. An error: it is to be reset.
  Task<bool> serve_one() {
    if (buffer_.size() == 0) buffer_.shrink_to_fit();  // it may wait for long
    auto parser = std::make_shared<Parser>();
    parser->header_limit(kMostHead);
    parser->body_limit(boost::none);
    ErrorCode error;
    guest_->next_layer().expires_after(kIdleLimit);
    co_await bhttp::async_read_header(*guest_, buffer_, *parser, to(error));
    guest_->next_layer().expires_never();
    if (error == bhttp::error::end_of_stream || error == asio::ssl::error::stream_truncated ||
        error == http::beast::error::timeout)
      co_return false;
    if (error && error.category() != bhttp::make_error_code(bhttp::error::bad_method).category())
      co_return lost();
    if (error) {
      const Error why{Code::kInvalidArgument, "bad_request",
                      "the request is not proper HTTP/1.1: " + error.message(), 0};
      auto told = co_await answer_error(why, false, true);
      co_return told;
    }
    buffer_.shrink_to_fit();
    keep_alive_ = parser->get().keep_alive();
    head_only_ = parser->get().method() == bhttp::verb::head;
    auto rewritten = rewrite_of(*parser);
    if (!rewritten) {
      auto told = co_await answer_error(rewritten.error(), parser->is_done(), true);
      co_return told;
    }
    auto passed = co_await pass(parser, *std::move(rewritten));
    authorization_.end();
    asked_host_.clear();
    secrets_ = {};
    co_return passed;
  }

  bool may_stay(const Granted* now) {
    if (!authorization_.is_valid(now == nullptr ? nullptr : &now->grant, unsealing())) return false;
    return asked_host_.empty() || look_for_all_of(now->grant).has_value();
  }

  // What was looked for before still is.
  Result<void> look_for_all_of(const wire::VaultGrant& grant) {
    CAY_TRY(const auto secrets, secrets_of_host(grant, asked_host_, unsealing()));
    secrets_ = house_.encodings.matcher(secrets_, secrets);
    return {};
  }

  // What the parser has of the headers is not needed any more where this was.
  Result<Rewritten> rewrite_of(Parser& parser) {
    const auto granted = house_.grants.of(hello_.sandbox_id);
    if (!granted) return rules_unknown();
    auto& message = parser.get();
    Asked asked;
    asked.host = hello_.host;
    asked.port = hello_.port;
    asked.method = std::string(message.method_string());
    asked.target = std::string(message.target());
    if (hello_.host.empty()) {
      const Meant meant = meant_by(granted->grant, asked.target);
      notes_.asked_of(meant.rule, meant.to ? meant.to->host : "",
                      meant.to ? meant.to->port : hello_.port);
    }
    for (const auto& field : message) {
      if (asked.headers.items().size() >= kMostFields)
        return Error{Code::kInvalidArgument, "bad_request", "the request has more than 128 headers",
                     0};
      asked.headers.add(std::string(field.name_string()), std::string(field.value()));
    }
    if (auto framing = http::bad_framing_of(asked.headers, message.version())) {
      keep_alive_ = false;  // where its body ends, nobody knows
      return Error{Code::kInvalidArgument, "bad_request", framing->error.message, 0};
    }
    wants_websocket_ = http::list_has(asked.headers.get("Upgrade").value_or(""), "websocket") &&
                       message.method() == bhttp::verb::get;
    if (!parser.is_done() && gate::takes_no_body(asked.method)) {
      return Error{
          Code::kInvalidArgument, "bad_request",
          "a request of that method has no body: many servers would take it for another request",
          0};
    }
    CAY_TRY(Rewritten out, rewrite(granted->grant, asked, unsealing()));
    continues_ = http::equals_ignoring_case(message[bhttp::field::expect], "100-continue");
    said_ = said_in(message);
    message.clear();
    asked_host_ = out.to.host;
    CAY_CHECK(look_for_all_of(granted->grant));
    authorization_.begin(std::move(asked), out);
    return out;
  }

  Unseal unsealing() const {
    return [this](const wire::VaultSecret& secret) { return house_.grants.unseal(secret); };
  }

  // Both sides see a reset before this returns: the guest's socket is not ours alone to close
  // (gate/handed_over.h).
  void cut() {
    notes_.flush();  // what moved until now
    notes_.refuse(
        Error{Code::kPermissionDenied, "rule_changed", "its proxy rule or secret was changed", 0});
    notes_.stop();
    if (guest_) gate::cut(guest_->next_layer().socket().native_handle());
    if (server_) server_->reset();
    const auto cancel = cancel_;
    cancel();  // whatever is waited for; may be our end
  }

  // A request, or an answer, of which nothing moves ends: it would hold its place for as long as
  // the other side likes.
  asio::awaitable<void> end_when_still() {
    for (std::uint64_t moved = moves_ - 1; moved != moves_ || !still_matters_ ||
                                           !server_;) {  // to reach a server has limits of its own
      moved = moves_;
      co_await sleep_for(house_.most_still);
    }
    stood_still_ = true;
    if (head_sent_) gate::cut(guest_->next_layer().socket().native_handle());
    if (server_) server_->reset();
  }

  // One request and its answer.
  Task<bool> pass(std::shared_ptr<Parser> parser, Rewritten request) {
    head_sent_ = stood_still_ = false;
    still_matters_ = true;
    Scope watching(house_.loop);
    watching.spawn(end_when_still());
    auto passing = pass_on(std::move(parser), std::move(request));
    auto passed = co_await watching.until(std::move(passing));
    co_return passed;
  }

  Task<bool> pass_on(std::shared_ptr<Parser> parser, Rewritten request) {
    notes_.of(request.to.host, request.to.port);
    const bool again = server_ && server_->host == request.to && server_->is_quiet();
    if (!again) {
      server_.reset();
      auto reached = co_await dial(house_, request.to, hello_.sandbox_id, notes_.address(),
                                   house_.memory.outside(gate::buffers_told(hello_.buffers)));
      if (!reached) {
        auto told = co_await answer_error(reached.error(), parser->is_done(), true);
        co_return told;
      }
      server_ = *std::move(reached);
    }
    http::Upstream upstream(*server_->stream);
    http::UpstreamRequest ask;
    ask.method = std::string(parser->get().method_string());
    ask.target = request.target;
    ask.headers = std::move(request.headers);
    if (const auto length = parser->content_length()) ask.length = *length;
    ask.chunked = parser->chunked();
    ask.websocket = wants_websocket_;
    ask.keep = !wants_websocket_;
    parser->eager(true);  // many small chunks make one piece
    Bytes first = co_await said_already(*parser);
    notes_.sent(said_ + first.size());
    auto sent = co_await upstream.send_head(std::move(ask), std::move(first), parser->is_done());
    moves_ += 1;
    if (!sent && stood_still_) {
      server_.reset();
      auto told = co_await answer_error(no_answer(), parser->is_done(), true);
      co_return told;
    }
    if (!sent && again) {  // it had been closed meanwhile: nothing of this request was answered
      server_.reset();
      const Error closed{Code::kUnavailable, "connection_lost",
                         "the server ended its connection: try again", 0};
      auto told = co_await answer_error(closed, parser->is_done(), true);
      co_return told;
    }
    if (!sent) co_return std::move(sent).error();
    notes_.opened();
    Scope body(house_.loop);
    body_over_ = parser->is_done();
    if (!body_over_) body.spawn(send_body(parser, upstream));
    auto answering = answer(upstream);
    auto answered = co_await body.until(std::move(answering));
    // Of the guest's connection: a server that did not want all of a body has not kept the guest
    // from saying it.
    body_over_ = parser->is_done();
    if (!answered && answered.error().reason == "secret_reflected") {
      notes_.refuse(answered.error());
      co_return std::move(answered).error();
    }
    if (!answered && stood_still_) answered = no_answer();
    if (!answered) {
      notes_.failed(answered.error().reason);
      if (head_sent_) co_return std::move(answered).error();
      server_.reset();
      auto told = co_await answer_error(answered.error(), body_over_, false);
      co_return told;
    }
    if (!upstream.can_ask_again()) server_.reset();  // as after every request with a body
    co_return *answered&& keep_alive_&& body_over_;
  }

  asio::awaitable<void> send_body(std::shared_ptr<Parser> parser, http::Upstream& upstream) {
    if (continues_) {
      bhttp::response<bhttp::empty_body> go_on(bhttp::status::continue_, 11);
      ErrorCode error;
      co_await http::write_message(*guest_, go_on, error);
      if (error) co_return;
    }
    while (!parser->is_done()) {
      ErrorCode error;
      Bytes piece = parse_body(*parser, error);
      if (error) co_return give_up_guest();
      if (piece.empty()) {
        if (parser->is_done()) break;
        if (come_.size() > kPiece) co_return give_up_guest();  // a chunk's line without an end
        auto more = co_await http::read_when_there(*guest_, error, kPiece);
        if (error) co_return give_up_guest();
        come_ += more;
        continue;
      }
      moves_ += 1;
      notes_.sent(piece.size());
      auto sent = co_await upstream.send(std::move(piece));
      if (!sent) co_return;  // its answer tells why
      moves_ += 1;
      notes_.flush_in_time();
    }
    auto ended = co_await upstream.send(Bytes());
    static_cast<void>(ended);
  }

  // The first of the body goes with the head where the guest sends it right away
  // (http::Upstream::send_head).
  asio::awaitable<Bytes> said_already(Parser& parser) {
    if (parser.is_done()) co_return Bytes();  // what follows is the next request's
    come_ = take_early();
    if (continues_) co_return Bytes();
    ErrorCode error;  // whoever asks for more finds it again
    Bytes out;
    for (;;) {
      out += parse_body(parser, error);
      if (error || parser.is_done() || out.size() + come_.size() >= kPiece) co_return out;
      if (!has_more(*guest_)) {
        if (!out.empty()) co_return out;
        auto waiting = wait_for_guest();
        auto there = co_await with_deadline(std::move(waiting), kBodyLimit, "the body");
        if (!there) co_return out;
      }
      auto more = co_await http::read_when_there(*guest_, error, kPiece);
      if (error) co_return out;
      come_ += more;
    }
  }
  Task<void> wait_for_guest() {
    ErrorCode error;
    co_await guest_->next_layer().socket().async_wait(asio::socket_base::wait_read, to(error));
    if (error) co_return lost();
    co_return Result<void>();
  }

  // Of a body, what of `come_` is there; without one, more is needed.
  Bytes parse_body(Parser& parser, ErrorCode& error) {
    Bytes piece(std::min(come_.size(), kPiece), '\0');
    auto& body = parser.get().body();
    body.data = piece.data();
    body.size = piece.size();
    body.more = true;
    if (!come_.empty()) come_.erase(0, parser.put(asio::buffer(come_), error));
    piece.resize(piece.size() - body.size);
    if (error == bhttp::error::need_buffer || error == bhttp::error::need_more) error = {};
    if (parser.is_done()) give_back(std::exchange(come_, {}));  // before anything that may end this
    return piece;
  }

  // What was read behind a head.
  Bytes take_early() {
    const auto early = buffer_.data();
    Bytes out(static_cast<const char*>(early.data()), early.size());
    buffer_.consume(out.size());
    buffer_.shrink_to_fit();
    return out;
  }
  // The next request's.
  void give_back(std::string_view bytes) {
    buffer_.commit(asio::buffer_copy(buffer_.prepare(bytes.size()), asio::buffer(bytes)));
  }

  // A body that breaks off must not wait for an answer.
  void give_up_guest() {
    if (server_) server_->reset();
  }

  // True: the answer told its own end.
  Task<bool> answer(http::Upstream& upstream) {
    CAY_CO_TRY(const http::UpstreamAnswer got, co_await upstream.read_head());
    moves_ += 1;
    bhttp::response<bhttp::buffer_body> message;
    message.version(11);
    message.result(static_cast<unsigned>(got.status));
    const bool bodyless = head_only_ || is_bodyless(got.status);
    for (const auto& [name, value] : got.headers.items()) {
      if (secrets_.finds_in(name) || secrets_.finds_in(value) ||
          secrets_.finds_in(in_one_piece(value)))
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
    co_await http::write_head(*guest_, writer, error);
    if (error) co_return lost();
    if (bodyless) co_return self_told || is_bodyless(got.status);
    const auto next = [this, &upstream] {
      moves_ += 1;  // the one before has come
      return upstream.next();
    };
    const auto take = [this, &message, &writer](Bytes piece) -> Task<void> {
      notes_.received(piece.size());
      moves_ += 1;
      message.body().data = piece.data();
      message.body().size = piece.size();
      ErrorCode failed;
      co_await http::write_rest(*guest_, writer, failed);
      if (failed) co_return lost();
      moves_ += 1;
      notes_.flush_in_time();
      co_return Result<void>();
    };
    ResponseScanner scanner(secrets_, boundaries_of(got));
    CAY_CO_CHECK(co_await vault::pass(house_.loop, scanner, next, take));
    message.body().data = nullptr;
    message.body().size = 0;
    message.body().more = false;
    co_await http::write_rest(*guest_, writer, error);
    if (error) co_return lost();
    co_return true;
  }

  // A WebSocket: bytes both ways. Packed messages were not agreed to, so a secret in an answer is
  // seen.
  Task<bool> switch_over(http::Upstream& upstream, bhttp::response<bhttp::buffer_body> message,
                         MessageBoundaries::Kind boundaries) {
    message.set(bhttp::field::connection, "Upgrade");
    message.set(bhttp::field::upgrade, "websocket");
    message.body().more = false;
    bhttp::response_serializer<bhttp::buffer_body> writer(message);
    ErrorCode error;
    head_sent_ = true;
    co_await http::write_head(*guest_, writer, error);
    if (error) co_return lost();
    const std::shared_ptr<ByteStream> server = upstream.take_stream();
    const auto client = std::make_shared<http::RawStream>(guest_, take_early());
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
      if (!piece) co_return give_up_guest();
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
    ResponseScanner scanner(secrets_, boundaries);
    CAY_CO_CHECK(co_await vault::pass(house_.loop, scanner, next, take));
    auto ended = co_await client->shut_write();
    co_return ended;
  }

  // Told to the program inside, in the shape that the usual clients show. False: the connection
  // ends with it.
  Task<bool> answer_error(Error why, bool body_over, bool note) {
    if (note) notes_.refuse(why);
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
    // Some clients show nothing but this.
    if (status == 401) message.reason("Not the token that this sandbox's proxy rule wants");
    if (status == 403) message.reason("Not allowed by this sandbox's proxy rules");
    message.set(bhttp::field::content_type, "application/json");
    message.set("X-Cay-Error", why.reason);
    message.body() = codec::write(codec::json::object{{"error", inner}});
    message.keep_alive(keep_alive_ && body_over);
    message.prepare_payload();
    if (head_only_) message.body().clear();
    ErrorCode error;
    co_await http::write_message(*guest_, message, error);
    if (error) co_return lost();
    co_return keep_alive_&& body_over;
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

  RelayHouse& house_;
  wire::BrokerHello hello_;
  UniqueFd guest_fd_;
  std::function<void()> cancel_;
  ConnectionAuthorization authorization_;
  std::string asked_host_;  // whom the request under way goes to; empty: none is
  SecretMatcher secrets_;   // that the server may know
  RelayNotes notes_;
  std::shared_ptr<Channel> guest_;
  http::beast::flat_buffer buffer_{kMostHead + kPiece};
  Bytes come_;  // of the body under way, read and not parsed yet
  std::unique_ptr<ServerConnection> server_;
  bool keep_alive_ = true, head_only_ = false, head_sent_ = false, wants_websocket_ = false,
       body_over_ = true;
  bool continues_ = false;     // a body waits for our word
  std::size_t said_ = 0;       // in the head of the request under way
  std::uint64_t moves_ = 0;    // of the request under way and its answer
  bool still_matters_ = true;  // of a WebSocket it does not
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
