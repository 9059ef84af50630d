#include "http/client.h"

#include <boost/asio/connect.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/beast/core/buffers_to_string.hpp>
#include <boost/beast/http/buffer_body.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <sys/socket.h>
#include <algorithm>
#include <cstring>
#include <list>
#include <vector>

#include "async/deadline.h"
#include "base/ascii.h"
#include "http/proxy_dial.h"
#include "http/raw_stream.h"
#include "http/socket.h"
#include "http/text.h"
#include "http/tls.h"
#include "http/write_message.h"

namespace cay::http {
namespace {

namespace bhttp = beast::http;
using Clock = std::chrono::steady_clock;

constexpr std::size_t kBuffer = 64 * 1024;  // Beast reads no more at once
constexpr std::size_t kPiece = 256 * 1024;
constexpr std::size_t kRefusalLimit = 64 * 1024;
constexpr Millis kTunnelLimit{60'000};  // a stopped sandbox is started first

struct Origin {
  bool local = false;      // a UNIX socket
  bool secure = false;     // TLS
  std::string host, port;  // host: the path of a UNIX socket
  std::string prefix;      // before every target
  std::string authority;   // Host
};

Error bad_url(const std::string& url, const char* why) {
  return {Code::kInvalidArgument, "bad_url", "'" + url + "' is no URL that can be used: " + why, 0};
}

Result<Origin> origin_of(const std::string& url) {
  Origin origin;
  constexpr std::string_view kHttp = "http://";
  constexpr std::string_view kUnix = "unix://";
  const std::string_view text = url;
  if (text.substr(0, kUnix.size()) == kUnix) {
    origin.local = true;
    origin.host = std::string(text.substr(kUnix.size()));
    origin.authority = "localhost";
    if (origin.host.empty() || origin.host.front() != '/')
      return bad_url(url, "a UNIX socket is unix:///absolute/path");
    return origin;
  }
  constexpr std::string_view kHttps = "https://";
  origin.secure = text.substr(0, kHttps.size()) == kHttps;
  if (!origin.secure && text.substr(0, kHttp.size()) != kHttp)
    return bad_url(url, "it begins with http://, https:// or unix://");
  std::string_view rest = text.substr(origin.secure ? kHttps.size() : kHttp.size());
  const auto slash = std::min(rest.find('/'), rest.size());
  origin.authority = std::string(rest.substr(0, slash));
  origin.prefix = std::string(rest.substr(slash));
  while (!origin.prefix.empty() && origin.prefix.back() == '/') origin.prefix.pop_back();
  std::string_view authority = origin.authority;
  if (authority.empty() || authority.find('@') != std::string_view::npos)
    return bad_url(url, "it has no host, or a user in it");
  const auto bracket = authority.find(']');
  const auto colon = authority.rfind(':');
  const bool has_port =
      colon != std::string_view::npos && (bracket == std::string_view::npos || colon > bracket);
  origin.port = has_port ? std::string(authority.substr(colon + 1)) : origin.secure ? "443" : "80";
  authority = authority.substr(0, has_port ? colon : authority.size());
  if (!authority.empty() && authority.front() == '[')
    authority = authority.substr(1, authority.size() - 2);
  origin.host = std::string(authority);
  if (origin.host.empty() || origin.port.empty() ||
      origin.port.find_first_not_of("0123456789") != std::string::npos) {
    return bad_url(url, "its host or port is missing");
  }
  return origin;
}

struct Connection {
  // Beast reads as much as the buffer has room for: 512 bytes, if nobody reserved more.
  explicit Connection(Channel open) : channel(std::move(open)) { buffer.reserve(kBuffer); }
  Transport& transport() { return channel.next_layer(); }

  Channel channel;
  beast::flat_buffer buffer;
  Clock::time_point idle_since;
  bool reused = false;
  bool spent = false;      // a request was left unfinished on it
  bool forwarded = false;  // a proxy takes requests in absolute form on it
};
using ConnectionPtr = std::unique_ptr<Connection>;

// Kept-alive connections. Shared with answers, which may outlive the client.
struct IdlePool {
  std::list<ConnectionPtr> idle;
  std::size_t most = 0;
  Millis keep{0};

  ConnectionPtr take() {
    while (!idle.empty()) {
      ConnectionPtr connection = std::move(idle.back());
      idle.pop_back();
      if (Clock::now() - connection->idle_since > keep || !quiet(*connection)) continue;
      connection->reused = true;
      return connection;
    }
    return nullptr;
  }
  // Returns whether the server has neither closed the connection nor sent anything unasked.
  static bool quiet(Connection& connection) {
    auto& socket = connection.transport().socket();
    ErrorCode error;
    socket.non_blocking(true, error);
    char byte = 0;
    socket.receive(asio::buffer(&byte, 1), asio::socket_base::message_peek, error);
    return connection.buffer.size() == 0 && error == asio::error::would_block;
  }
  void give(ConnectionPtr connection) {
    if (idle.size() >= most) return;
    connection->transport().expires_never();
    connection->idle_since = Clock::now();
    idle.push_back(std::move(connection));
  }
};

using Parser = bhttp::response_parser<bhttp::buffer_body>;

class AnswerBody final : public ByteSource {
 public:
  AnswerBody(ConnectionPtr connection, std::unique_ptr<Parser> parser,
             std::shared_ptr<IdlePool> pool)
      : connection_(std::move(connection)), parser_(std::move(parser)), pool_(std::move(pool)) {
    const auto length = parser_->content_length();
    if (length && !parser_->chunked()) left_ = parser_->is_done() ? 0 : *length;
  }

  Task<Bytes> next() override {
    if (!connection_) co_return ended_ ? Result<Bytes>(Bytes()) : Result<Bytes>(lost_);
    if (left_) {
      auto known = co_await next_of_known_length();
      co_return known;
    }
    std::string piece(kBuffer, '\0');
    while (!parser_->is_done()) {
      auto& body = parser_->get().body();
      body.data = piece.data();
      body.size = piece.size();
      ErrorCode error;
      co_await bhttp::async_read_some(connection_->channel, connection_->buffer, *parser_,
                                      to(error));
      if (error == bhttp::error::need_buffer) error = {};
      const std::size_t got = piece.size() - body.size;
      if (got > 0) {
        piece.resize(got);
        co_return piece;
      }
      if (error) co_return lose(error);
    }
    finish();
    co_return Bytes();
  }

  // An answer without a body gives its connection back at once.
  void finish() {
    if (!connection_) return;
    ended_ = true;
    if (parser_->keep_alive() && !connection_->spent) {
      pool_->give(std::move(connection_));
    }
    connection_.reset();
  }

 private:
  // A body of known length needs no parser: it goes from the socket into the piece.
  Task<Bytes> next_of_known_length() {
    if (*left_ == 0) {
      finish();
      co_return Bytes();
    }
    Bytes piece(static_cast<std::size_t>(std::min<std::uint64_t>(*left_, kPiece)), '\0');
    std::size_t got = 0;
    if (auto& early = connection_->buffer; early.size() > 0) {  // it came with the head
      got = asio::buffer_copy(asio::buffer(piece), early.data());
      early.consume(got);
    } else {
      ErrorCode error;
      got = co_await connection_->channel.async_read_some(asio::buffer(piece), to(error));
      if (error) co_return lose(error);
    }
    *left_ -= got;
    piece.resize(got);
    co_return piece;
  }

  Error lose(const ErrorCode& error) {
    lost_ = broken(error, "the answer broke off");
    connection_.reset();
    return lost_;
  }

  ConnectionPtr connection_;
  std::unique_ptr<Parser> parser_;
  std::shared_ptr<IdlePool> pool_;
  std::optional<std::uint64_t> left_;  // of a body of known length
  bool ended_ = false;
  Error lost_;
};

class BeastClient final : public Client {
 public:
  BeastClient(asio::any_io_executor executor, ClientOptions options, Origin origin,
              std::unique_ptr<Tls> tls)
      : executor_(std::move(executor)),
        options_(std::move(options)),
        origin_(std::move(origin)),
        tls_(std::move(tls)),
        pool_(std::make_shared<IdlePool>()) {
    pool_->most = options_.max_idle;
    pool_->keep = options_.idle_timeout;
  }

  Task<ClientResponse> send(ClientRequest request) override {
    if (!is_token(request.method) || request.target.empty() || request.target.front() != '/' ||
        std::any_of(request.target.begin(), request.target.end(),
                    [](char c) { return c <= ' ' || c > '~'; })) {
      co_return Error{Code::kInvalidArgument, "bad_request",
                      "the request's method or target has characters that HTTP does not take", 0};
    }
    const bool repeatable =
        !request.stream && request.method != "POST" && request.method != "PATCH";
    auto first = co_await attempt(request, pool_->take());
    const bool stale = !first && first.error().reason == "stale_connection";
    if (!stale) co_return first;
    // A kept-alive connection that had been closed meanwhile. One that took nothing is no loss; a
    // POST may have been carried out.
    if (!repeatable)
      co_return Error{Code::kUnavailable, "connection_lost", first.error().message,
                      first.error().os_errno};
    auto second = co_await attempt(request, nullptr);
    co_return second;
  }

  Task<Response> request(ClientRequest request, std::size_t limit) override {
    CAY_CO_TRY(ClientResponse answer, co_await send(std::move(request)));
    Response out;
    out.status = answer.status;
    out.headers = std::move(answer.headers);
    CAY_CO_TRY(out.body, co_await read_all(std::move(answer.body), limit));
    co_return out;
  }

  Task<ClientUpgrade> websocket(std::string target, Headers headers,
                                std::size_t max_message) override {
    CAY_CO_TRY(ConnectionPtr connection, co_await connect());
    connection->transport().expires_never();
    BeastSocket stream(TolerantTransport(std::move(connection->channel)));
    prepare(stream);
    const Headers all = merged(headers);
    stream.set_option(
        beast::websocket::stream_base::decorator([&all](beast::websocket::request_type& request) {
          for (const auto& [name, value] : all.items()) request.set(name, value);
        }));
    beast::websocket::response_type refusal;
    const ErrorCode error =
        co_await open_websocket(stream, refusal, origin_.authority, origin_.prefix + target);
    ClientUpgrade out;
    if (!error) {
      auto core =
          std::make_shared<SocketCore>(std::move(stream), SocketCore::Side::kClient, max_message);
      out.socket = std::make_unique<Socket>(std::move(core), nullptr);
      co_return out;
    }
    if (error != beast::websocket::error::upgrade_declined)
      co_return broken(error, "open the WebSocket");
    out.refusal.status = static_cast<int>(refusal.result_int());
    for (const auto& field : refusal)
      out.refusal.headers.add(std::string(field.name_string()), std::string(field.value()));
    out.refusal.body = refusal.body().substr(0, kRefusalLimit);
    co_return out;
  }

  Task<ClientTunnel> tunnel(std::string target, std::string protocol,
                            std::function<Headers(const std::string&)> headers) override {
    if (tls_) co_return bad_url(options_.url, "such a stream has no TLS");
    CAY_CO_TRY(ConnectionPtr connection, co_await connect());
    Transport& transport = connection->transport();
    transport.expires_after(kTunnelLimit);
    ClientRequest request;
    request.target = std::move(target);
    request.headers = headers(origin_.local ? "" : local_address(transport));
    request.headers.set("Upgrade", protocol);
    bhttp::request<bhttp::string_body> message;
    fill(message, request, *connection);
    message.set(bhttp::field::connection, "Upgrade");
    ErrorCode error;
    co_await write_message(connection->channel, message, error);
    bhttp::response_parser<bhttp::string_body> parser;
    parser.header_limit(static_cast<std::uint32_t>(options_.max_head));
    parser.body_limit(kRefusalLimit);
    if (!error) {
      co_await bhttp::async_read_header(connection->channel, connection->buffer, parser, to(error));
    }
    if (error) co_return broken(error, "open the tunnel");
    ClientTunnel out;
    if (parser.get().result() == bhttp::status::switching_protocols) {
      auto early = beast::buffers_to_string(connection->buffer.data());
      auto channel = std::make_shared<Channel>(std::move(connection->channel));
      out.stream = std::make_unique<RawStream>(std::move(channel), std::move(early));
      co_return out;
    }
    co_await bhttp::async_read(connection->channel, connection->buffer, parser, to(error));
    if (error) co_return broken(error, "open the tunnel");
    out.refusal.status = static_cast<int>(parser.get().result_int());
    out.refusal.body = std::move(parser.get().body());
    co_return out;
  }

  void close_idle() override { pool_->idle.clear(); }

 private:
  static std::string local_address(Transport& transport) {
    sockaddr_storage own{};
    socklen_t size = sizeof own;
    if (::getsockname(transport.socket().native_handle(), reinterpret_cast<sockaddr*>(&own),
                      &size) != 0)
      return "";  // NOLINT
    asio::ip::tcp::endpoint at;
    if (size > at.capacity()) return "";
    std::memcpy(at.data(), &own, size);
    at.resize(size);
    ErrorCode ignored;
    return at.address().to_string(ignored) + ":" + std::to_string(at.port());
  }

  Headers merged(const Headers& own) const {
    Headers all = options_.headers;
    for (const auto& [name, value] : own.items()) all.set(name, value);
    return all;
  }

  // `forwards`: a request may go to the proxy in absolute form.
  Task<ConnectionPtr> connect(bool forwards = false) {
    auto work = dial(forwards);
    auto got = co_await with_deadline<ConnectionPtr>(std::move(work), options_.connect_timeout,
                                                     "connecting");
    if (!got && got.error().code == Code::kDeadlineExceeded) {
      co_return Error{Code::kDeadlineExceeded, "connect_timeout",
                      "no connection to " + options_.url + " in time", 0};
    }
    co_return got;
  }

  Task<ConnectionPtr> dial(bool forwards) {
    ErrorCode error;
    if (origin_.local) {
      Transport transport(executor_);
      const asio::local::stream_protocol::endpoint endpoint(origin_.host);
      co_await transport.async_connect(asio::generic::stream_protocol::endpoint(endpoint),
                                       to(error));
      if (error) co_return unreachable(error);
      co_return std::make_unique<Connection>(std::move(transport));
    }
    asio::ip::tcp::resolver resolver(executor_);
    const auto found = co_await resolver.async_resolve(origin_.host, origin_.port, to(error));
    const bool goes_by_proxy = by_proxy(found);
    if (goes_by_proxy && !options_.proxy.unusable.empty())
      co_return Error{Code::kInvalidArgument, "bad_proxy", options_.proxy.unusable, 0};
    if (error && goes_by_proxy && options_.checks_all) co_return unknown_here();
    if (error && !goes_by_proxy) co_return unreachable(error);
    const auto allowed = allowed_of(found);
    const bool closed = options_.checks_all && allowed.size() < found.size();
    if (!error && (allowed.empty() || closed)) {
      co_return Error{Code::kPermissionDenied, "special_network",
                      origin_.host + " is in a special network (loopback, private, link-local)", 0};
    }
    asio::ip::tcp::socket socket(executor_);
    const bool is_forwarded =
        goes_by_proxy && forwards && !tls_ && options_.proxy.forwards && !options_.checks_all;
    if (goes_by_proxy && options_.checks_all) {
      CAY_CO_CHECK(co_await connect_to_one_of(options_.proxy, socket, allowed, origin_.host));
    } else if (goes_by_proxy) {
      CAY_CO_CHECK(co_await dial_proxy(options_.proxy, socket));
      if (!is_forwarded) {
        CAY_CO_CHECK(co_await connect_through(options_.proxy, socket, origin_.host, origin_.port));
      }
    } else {
      co_await asio::async_connect(socket, allowed, to(error));
      if (error) co_return unreachable(error);
    }
    socket.set_option(asio::ip::tcp::no_delay(true), error);
    if (socket.remote_endpoint(error).address().is_loopback())
      without_pacing(socket.native_handle());
    if (!tls_) {
      auto plain = std::make_unique<Connection>(Transport(std::move(socket)));
      plain->forwarded = is_forwarded;
      co_return std::move(plain);
    }
    auto secured =
        std::make_unique<Connection>(Channel(Transport(std::move(socket)), tls_->context()));
    CAY_CO_CHECK(co_await tls_->handshake(secured->channel, origin_.host));
    co_return std::move(secured);
  }

  bool by_proxy(const asio::ip::tcp::resolver::results_type& found) const {
    const ClientProxy& proxy = options_.proxy;
    if (proxy.host.empty() && proxy.unusable.empty()) return false;
    std::vector<IpAddress> addresses;
    for (const auto& one : found) {
      if (const auto address = IpAddress::parse(one.endpoint().address().to_string()))
        addresses.push_back(*address);
    }
    return !proxy.is_direct || !proxy.is_direct(origin_.host, addresses);
  }

  std::vector<asio::ip::tcp::endpoint> allowed_of(
      const asio::ip::tcp::resolver::results_type& found) const {
    std::vector<asio::ip::tcp::endpoint> out;
    for (const auto& one : found) {
      const auto address = IpAddress::parse(one.endpoint().address().to_string());
      if (!options_.may_dial || (address && options_.may_dial(*address)))
        out.push_back(one.endpoint());
    }
    return out;
  }

  Error unknown_here() const {
    return {Code::kUnavailable, "connect_failed",
            origin_.host + " has no address here, and behind a proxy only an address that was " +
                "checked here is connected to",
            0};
  }

  Error unreachable(const ErrorCode& error) const {
    return {Code::kUnavailable, "connect_failed",
            "nothing answers at " + options_.url + ": " + error.message(), error.value()};
  }

  Task<ClientResponse> attempt(ClientRequest& request, ConnectionPtr connection) {
    if (!connection) {
      CAY_CO_TRY(connection, co_await connect(true));
    }
    const bool reused = connection->reused;
    if (options_.response_timeout.count() > 0)
      connection->transport().expires_after(options_.response_timeout);
    auto parser = std::make_unique<Parser>();
    parser->header_limit(static_cast<std::uint32_t>(options_.max_head));
    parser->body_limit(boost::none);
    if (request.method == "HEAD") parser->skip(true);
    // The answer may come before the request's end: it is read also when writing failed.
    auto wrote = co_await write(request, *connection);
    if (!wrote && wrote.error().reason != "connection_lost") co_return std::move(wrote).error();
    ErrorCode error;
    do {
      if (parser->is_header_done()) parser = fresh(request);
      co_await bhttp::async_read_header(connection->channel, connection->buffer, *parser,
                                        to(error));
    } while (!error && parser->get().result() == bhttp::status::continue_);
    if (error == beast::error::timeout) {
      co_return Error{Code::kDeadlineExceeded, "response_timeout",
                      "no answer from " + options_.url + " in time", 0};
    }
    if (error) {
      Error lost = broken(error, "the connection broke before an answer");
      if (reused && parser->get().result_int() == 0) lost.reason = "stale_connection";
      if (reused && (error == bhttp::error::end_of_stream ||
                     error == asio::error::connection_reset || error == asio::error::broken_pipe)) {
        lost.reason = "stale_connection";
      }
      co_return lost;
    }
    connection->transport().expires_never();
    ClientResponse answer;
    answer.status = static_cast<int>(parser->get().result_int());
    for (const auto& field : parser->get())
      answer.headers.add(std::string(field.name_string()), std::string(field.value()));
    if (const auto length = parser->content_length()) answer.length = *length;
    const bool empty = parser->is_done();
    auto body = std::make_unique<AnswerBody>(std::move(connection), std::move(parser), pool_);
    if (empty) body->finish();
    answer.body = std::move(body);
    co_return answer;
  }

  std::unique_ptr<Parser> fresh(const ClientRequest& request) const {
    auto parser = std::make_unique<Parser>();
    parser->header_limit(static_cast<std::uint32_t>(options_.max_head));
    parser->body_limit(boost::none);
    if (request.method == "HEAD") parser->skip(true);
    return parser;
  }

  template <class Message>
  void fill(Message& message, const ClientRequest& request, const Connection& connection) {
    message.version(11);
    message.method_string(request.method);
    const std::string target = origin_.prefix + request.target;
    message.target(connection.forwarded ? "http://" + origin_.authority + target : target);
    if (connection.forwarded && !options_.proxy.authorization.empty())
      message.set(bhttp::field::proxy_authorization, options_.proxy.authorization);
    message.set(bhttp::field::host, origin_.authority);
    const Headers all = merged(request.headers);
    for (const auto& [name, value] : all.items()) message.set(name, value);
  }

  Task<void> write(ClientRequest& request, Connection& connection) {
    ErrorCode error;
    if (!request.stream) {
      bhttp::request<bhttp::string_body> message;
      fill(message, request, connection);
      message.body() = request.body;
      message.prepare_payload();
      co_await write_message(connection.channel, message, error);
      if (error) co_return broken(error, "send the request");
      co_return Result<void>();
    }
    bhttp::request<bhttp::buffer_body> message;
    fill(message, request, connection);
    if (request.stream_length) {
      message.content_length(*request.stream_length);
    } else {
      message.chunked(true);
    }
    message.body().data = nullptr;
    message.body().more = true;
    bhttp::request_serializer<bhttp::buffer_body> writer(message);
    co_await write_head(connection.channel, writer, error);
    while (!error) {
      // An answer that comes before the request's end is a refusal: the rest is not wanted. (Under
      // TLS, what has come may be no more than a session ticket.)
      ErrorCode ignored;
      if (!tls_ && connection.transport().socket().available(ignored) > 0) {
        connection.spent = true;
        co_return Result<void>();
      }
      CAY_CO_TRY(Bytes piece, co_await request.stream->next());
      const bool last = piece.empty();
      message.body().data = last ? nullptr : piece.data();
      message.body().size = piece.size();
      message.body().more = !last;
      co_await write_rest(connection.channel, writer, error);
      if (last) break;
    }
    if (error) co_return broken(error, "send the request");
    co_return Result<void>();
  }

  asio::any_io_executor executor_;
  ClientOptions options_;
  Origin origin_;
  std::unique_ptr<Tls> tls_;  // null: http
  std::shared_ptr<IdlePool> pool_;
};

}  // namespace

Result<std::unique_ptr<Client>> Client::create(asio::any_io_executor executor,
                                               ClientOptions options) {
  CAY_TRY(auto origin, origin_of(options.url));
  std::unique_ptr<Tls> tls;
  if (origin.secure) {
    CAY_TRY(tls, Tls::create(options.ca_file, options.more_ca_file));
  }
  return std::unique_ptr<Client>(std::make_unique<BeastClient>(
      std::move(executor), std::move(options), std::move(origin), std::move(tls)));
}

std::string encode_segment(std::string_view text) {
  static constexpr char kHex[] = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    const auto u = static_cast<unsigned char>(c);
    const bool plain = is_letter(c) || is_digit(c) || c == '-' || c == '.' || c == '_' || c == '~';
    if (plain) {
      out.push_back(c);
    } else {
      out.push_back('%');
      out.push_back(kHex[u >> 4]);
      out.push_back(kHex[u & 15]);
    }
  }
  return out;
}

}  // namespace cay::http
