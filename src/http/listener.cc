#include "http/listener.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/websocket/rfc6455.hpp>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <optional>
#include <set>

#include "async/deadline.h"
#include "async/event.h"
#include "async/scope.h"
#include "base/entered.h"
#include "base/hang_up.h"
#include "http/client_watch.h"
#include "http/connection_pool.h"
#include "http/live_exchange.h"
#include "http/raw_stream.h"
#include "http/read_buffer.h"
#include "http/request_head.h"
#include "http/server_tls.h"

namespace cay::http {
namespace {

namespace bhttp = beast::http;

constexpr std::size_t kMaxBuffer = 128 * 1024;
constexpr Millis kFirstWord{1000};  // for a connection that has sent nothing when the daemon ends

// `accepts`: clients come from now on. One that only has the address is refused as another's would
// be.
Result<void> open_acceptor(asio::ip::tcp::acceptor& acceptor, const std::string& at,
                           std::uint16_t port, bool accepts) {
  ErrorCode error;
  const auto address = asio::ip::make_address(at == "localhost" ? "127.0.0.1" : at, error);
  if (error)
    return Error{Code::kInvalidArgument, "bad_address", "'" + at + "' is not an IP address", 0};
  const asio::ip::tcp::endpoint endpoint(address, port);
  acceptor.open(endpoint.protocol(), error);
  if (!error) acceptor.set_option(asio::socket_base::reuse_address(true), error);
  if (!error) acceptor.bind(endpoint, error);
  if (!error && accepts) acceptor.listen(asio::socket_base::max_listen_connections, error);
  if (!error) return {};
  const bool taken = error == asio::error::address_in_use;
  const std::string where = at + ":" + std::to_string(port);
  return Error{Code::kUnavailable, taken ? "address_in_use" : "listen_failed",
               taken ? where + " is in use: another daemon? choose another with --listen"
                     : "listen on " + where + ": " + error.message(),
               error.value()};
}

}  // namespace

struct Listener::State : std::enable_shared_from_this<Listener::State> {
  State(asio::any_io_executor executor, ListenerConfig settings, Handler handle)
      : loop(executor),
        config(std::move(settings)),
        handler(std::move(handle)),
        acceptor(executor),
        children(executor),
        idle(executor),
        clients(executor),
        pool(config.max_connections, config.shares, [this](std::shared_ptr<LiveExchange> exchange) {
          children.spawn(LiveExchange::give_way(
              std::move(exchange),
              "others need connections, and this caller has the most of them"));
        }) {}

  asio::any_io_executor loop;
  ListenerConfig config;
  Handler handler;
  asio::ip::tcp::acceptor acceptor;
  Scope children;
  std::set<Transport*> waiting;  // between requests: closed at once on shutdown
  std::set<Transport*> fresh;    // before their first: many clients take a close without an answer
                                 // for good, so they have kFirstWord
  std::set<std::shared_ptr<SocketCore>> sockets;
  bool ending = false;
  std::chrono::steady_clock::time_point complain_again{};  // of accept()
  Event idle;               // notified when a connection ends, or was parted from
  std::size_t parting = 0;  // sockets whose peers have not answered our close yet
  ClientWatch clients;
  ConnectionPool pool;

  asio::awaitable<void> accept_all() {
    while (!ending) {
      asio::ip::tcp::socket socket(loop);
      ErrorCode error;
      co_await acceptor.async_accept(socket, to(error));
      if (error && (error == asio::error::operation_aborted || ending)) co_return;
      if (error) {  // out of descriptors: let some go first
        const auto now = std::chrono::steady_clock::now();
        if (config.log && now >= complain_again) {
          config.log("accept: " + error.message() + ": who comes now waits until others have gone");
          complain_again = now + std::chrono::minutes(1);
        }
        co_await sleep_for(Millis{100});
        continue;
      }
      take_in(std::move(socket));
    }
  }

  void take_in(asio::ip::tcp::socket socket) {
    ErrorCode ignored;
    socket.set_option(asio::ip::tcp::no_delay(true), ignored);
    const auto remote = socket.remote_endpoint(ignored);
    if (remote.address().is_loopback()) without_pacing(socket.native_handle());
    std::string peer = remote.address().to_string(ignored) + ":" + std::to_string(remote.port());
    children.spawn(serve(shared_from_this(), Transport(std::move(socket)), std::move(peer)));
  }

  // Those whom the kernel has let in already: closing the acceptor would reset them.
  void take_in_the_rest() {
    ErrorCode error;
    acceptor.non_blocking(true, error);
    for (int left = asio::socket_base::max_listen_connections; !error && left > 0;
         --left) {  // others may come as fast as they are taken
      asio::ip::tcp::socket socket(loop);
      acceptor.accept(socket, error);
      if (!error) take_in(std::move(socket));
    }
  }
  asio::awaitable<void> give_up_the_silent() {
    co_await sleep_for(kFirstWord);
    for (Transport* silent : fresh) silent->cancel();
  }

  // Its owner may have left: its peer's close is waited for all the same.
  asio::awaitable<void> part_with(std::shared_ptr<SocketCore> socket) {
    co_await Socket::end_of(socket);
    --parting;
    idle.notify();
  }

  static asio::awaitable<void> serve(std::shared_ptr<State> self, Transport transport,
                                     std::string peer) {
    ClientConnection client;
    self->pool.enter(client);
    std::exception_ptr failure;
    try {
      if (self->config.tls) {
        co_await self->converse_secured(std::move(transport), peer, client);
      } else {
        Channel channel(std::move(transport));
        client.transport = &channel.next_layer();
        co_await self->converse(channel, peer, client);
      }
    } catch (...) {
      failure = std::current_exception();
    }
    self->pool.leave(client);
    self->idle.notify();
    if (failure && !is_cancellation(failure)) self->log_failure(failure);
  }

  void log_failure(const std::exception_ptr& failure) {
    if (!config.log) return;
    try {
      std::rethrow_exception(failure);
    } catch (const std::exception& error) {
      config.log(std::string("a request's handler threw: ") + error.what());
    } catch (...) {
      config.log("a request's handler threw");
    }
  }

  // Waits until something can be read, and leaves it there. nullopt: the peer left, or sent
  // nothing.
  asio::awaitable<std::optional<unsigned char>> first_byte(Transport& transport) {
    Result<void> looked;
    {
      const Entered here(fresh, &transport);
      auto looking = wait_readable(transport);
      looked =
          co_await with_deadline<void>(std::move(looking), config.head_limit, "the first byte");
    }
    unsigned char byte = 0;
    if (!looked ||
        ::recv(transport.socket().native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT) != 1)
      co_return std::nullopt;
    co_return byte;
  }
  static Task<void> wait_readable(Transport& transport) {
    ErrorCode error;
    co_await transport.socket().async_wait(asio::socket_base::wait_read, to(error));
    if (error) co_return broken(error, "wait for the client");
    co_return Result<void>();
  }

  asio::awaitable<void> converse_secured(Transport transport, std::string peer,
                                         ClientConnection& client) {
    constexpr unsigned char kHandshakeRecord = 22;  // RFC 8446, section 5.1
    client.transport = &transport;
    const auto first = co_await first_byte(transport);
    if (!first) co_return;
    if (*first != kHandshakeRecord) {
      Channel plain(std::move(transport));
      client.transport = &plain.next_layer();
      ReadBuffer buffer(kMaxBuffer);
      RequestParser none;
      co_await refuse(
          plain, buffer, none, peer, client,
          Error{Code::kInvalidArgument, "tls_needed", "this port speaks TLS: use https://", 400});
      co_return;
    }
    const auto context = config.tls->context();  // kept for as long as the connection
    Channel channel(std::move(transport), *context);
    client.transport = &channel.next_layer();
    channel.next_layer().expires_never();
    auto greeting = ServerTls::handshake(channel);
    auto greeted = co_await with_deadline<void>(std::move(greeting), config.head_limit, "TLS");
    if (!greeted) co_return;
    co_await converse(channel, peer, client);
  }

  asio::awaitable<void> converse(Channel& channel, const std::string& peer,
                                 ClientConnection& client) {
    ReadBuffer buffer(kMaxBuffer);
    if (client.refused) {
      RequestParser none;
      co_await refuse(channel, buffer, none, peer, client,
                      Error{Code::kUnavailable, "too_many_connections",
                            "too many connections: try again later", 503});
      co_return;
    }
    for (bool first = true; first || !ending; first = false) {
      RequestParser parser;
      parser.header_limit(config.max_head);
      parser.body_limit(boost::none);  // each handler has its own limit
      const auto limited = co_await read_head(channel, buffer, parser, first);
      if (!limited) {
        co_await refuse(channel, buffer, parser, peer, client, limited.error());
        co_return;
      }
      if (!*limited) co_return;  // the peer went
      auto head = head_of(parser.get(), peer, channel.secured() != nullptr);
      if (auto* wrong = std::get_if<BadRequest>(&head)) {
        RequestHead refused;  // no more of it than what the error's shape goes by
        refused.method = std::string(parser.get().method_string());
        refused.target = std::string(parser.get().target());
        refused.peer = peer;
        auto exchange = make_exchange(channel, buffer, parser, std::move(refused), client);
        if (config.refused) config.refused(exchange->head(), wrong->status, wrong->error);
        auto response = shaped(exchange->head(), wrong->status, wrong->error);
        exchange->connection().close_after();
        co_await exchange->respond(std::move(response));
        exchange->connection().detach();
        co_await hang_up(channel, buffer);
        co_return;
      }
      auto exchange =
          make_exchange(channel, buffer, parser, std::get<RequestHead>(std::move(head)), client);
      client.at_work = exchange;
      co_await handle(channel, exchange);
      client.at_work.reset();
      if (exchange->upgraded() || !exchange->answered()) co_return;
      auto fit = co_await exchange->body_reader().drain();
      exchange->connection().detach();
      if (!fit || !exchange->connection().keep_alive() || ending) {
        co_await hang_up(channel, buffer);
        co_return;
      }
    }
  }
  std::shared_ptr<LiveExchange> make_exchange(Channel& channel, ReadBuffer& buffer,
                                              RequestParser& parser, RequestHead head,
                                              ClientConnection& client) {
    auto self = shared_from_this();
    LiveExchange::OnSocket on_socket =
        [self](std::shared_ptr<SocketCore> socket) -> std::function<void()> {
      self->sockets.insert(socket);
      return [self, socket] { self->sockets.erase(socket); };
    };
    return std::make_shared<LiveExchange>(
        channel, buffer, parser, std::move(head), config, ending, std::move(on_socket),
        [self, &client](Caller caller) { return self->pool.let_in(client, std::move(caller)); });
  }

  Task<ErrorCode> read_rest(Channel& channel, ReadBuffer& buffer, RequestParser& parser) {
    ErrorCode error;
    co_await bhttp::async_read_header(channel, buffer, parser, to(error));
    co_return error;
  }

  // Not by the transport's own time-out, which closes the socket: a slow head is answered.
  Task<ErrorCode> read_rest_in_time(Channel& channel, ReadBuffer& buffer, RequestParser& parser) {
    auto reading = read_rest(channel, buffer, parser);
    auto done = co_await with_deadline<ErrorCode>(std::move(reading), config.head_limit,
                                                  "the request's head");
    // (A read that the deadline cut short reports that itself.)
    if (!done || *done == asio::error::operation_aborted)
      co_return Error{Code::kDeadlineExceeded, "request_timeout",
                      "the request's head did not arrive in time", 408};
    co_return *done;
  }

  // True: a head was read. False: the peer went, or we are ending. An error: what to refuse it
  // with.
  Task<bool> read_head(Channel& channel, ReadBuffer& buffer, RequestParser& parser, bool first) {
    ErrorCode error;
    if (buffer.size() == 0) {
      Transport& transport = channel.next_layer();
      transport.expires_after(first ? config.head_limit : config.idle_limit);
      constexpr std::size_t kRead = 8192;
      std::size_t got = 0;
      {
        const Entered here(first ? fresh : waiting, &transport);
        got = co_await channel.async_read_some(buffer.prepare(kRead), to(error));
      }
      if (error || (ending && !first)) co_return false;
      buffer.commit(got);
    }
    channel.next_layer().expires_never();
    parser.eager(false);  // the head alone, of what is here already
    buffer.consume(parser.put(buffer.data(), error));
    if (error == bhttp::error::need_more) {
      CAY_CO_TRY(error, co_await read_rest_in_time(channel, buffer, parser));
    }
    if (!error) co_return true;
    if (error == bhttp::error::header_limit || error == bhttp::error::buffer_overflow) {
      co_return Error{
          Code::kInvalidArgument, "head_too_large",
          "the request's head is longer than " + std::to_string(config.max_head) + " bytes", 431};
    }
    if (error == bhttp::error::end_of_stream || error == bhttp::error::partial_message ||
        error.category() != bhttp::make_error_code(bhttp::error::bad_method).category()) {
      co_return false;
    }
    co_return Error{Code::kInvalidArgument, "bad_request",
                    "this is not an HTTP/1.1 request: " + error.message(), 400};
  }

  // The status to refuse with travels in os_errno.
  asio::awaitable<void> refuse(Channel& channel, ReadBuffer& buffer, RequestParser& parser,
                               std::string peer, ClientConnection& client, Error error) {
    RequestHead head;
    head.peer = std::move(peer);
    const int status = std::exchange(error.os_errno, 0);
    auto exchange = make_exchange(channel, buffer, parser, std::move(head), client);
    if (config.refused) config.refused(exchange->head(), status, error);
    auto response = shaped(exchange->head(), status, error);
    if (status == 503) response.headers.set("Retry-After", "1");
    exchange->connection().close_after();
    co_await exchange->respond(std::move(response));
    exchange->connection().detach();
    co_await hang_up(channel, buffer);
  }

  Response shaped(const RequestHead& head, int status, const Error& error) {
    if (config.shape) return config.shape(head, status, error);
    Response plain;
    plain.status = status;
    plain.body = error.message + "\n";
    return plain;
  }

  // Runs the handler; a peer that goes away meanwhile cancels it.
  asio::awaitable<void> handle(Channel& channel, std::shared_ptr<LiveExchange> exchange) {
    std::exception_ptr failure;
    try {
      auto work = handler(exchange);
      if (!exchange->head().upgrades())
        work = clients.run(channel, exchange->body_reader(), std::move(work));
      co_await std::move(work);
    } catch (...) {
      failure = std::current_exception();
    }
    co_await answer_failure(std::move(exchange), failure);
  }

  asio::awaitable<void> answer_failure(std::shared_ptr<LiveExchange> exchange,
                                       std::exception_ptr failure) {
    if (!failure || is_cancellation(failure)) co_return;
    log_failure(failure);
    if (exchange->answered()) co_return;
    const Error error{Code::kInternal, "internal",
                      "Cay failed at this request: see the daemon's log", 0};
    auto response = shaped(exchange->head(), 500, error);
    co_await exchange->respond(std::move(response));
  }

  // Sends FIN first and then reads for a while what the peer still sends. A close with unread bytes
  // would be a reset, and the peer could lose the answer.
  asio::awaitable<void> hang_up(Channel& channel, ReadBuffer& buffer) {
    ErrorCode error;
    Transport& transport = channel.next_layer();
    if (channel.secured() != nullptr) {
      transport.expires_never();
      auto closing = ServerTls::close(channel);
      auto done = co_await with_deadline<void>(
          std::move(closing), std::min(config.linger, Millis{1000}), "the end of TLS");
      static_cast<void>(done);
    }
    transport.socket().shutdown(asio::socket_base::shutdown_send, error);
    transport.expires_after(config.linger);
    constexpr std::size_t kRead = 8192;
    // By the clock: a peer that never stops sending would never let a time-out of the transport
    // fire.
    const auto end = std::chrono::steady_clock::now() + config.linger;
    while (!error && !ending && std::chrono::steady_clock::now() < end) {
      buffer.clear();
      const std::size_t got = co_await transport.async_read_some(buffer.prepare(kRead), to(error));
      buffer.commit(got);  // so that it is overwritten, too
    }
  }
};

Listener::Listener(asio::any_io_executor executor, ListenerConfig config, Handler handler)
    : state_(std::make_shared<State>(std::move(executor), std::move(config), std::move(handler))) {}

Listener::~Listener() {
  ErrorCode ignored;
  state_->ending = true;
  state_->acceptor.close(ignored);
  state_->children.cancel();
}

Result<void> check_can_listen(const std::string& address, std::uint16_t port) {
  asio::io_context loop;
  asio::ip::tcp::acceptor probe(loop);
  return open_acceptor(probe, address, port, false);
}

Result<std::uint16_t> Listener::start() {
  auto& acceptor = state_->acceptor;
  CAY_CHECK(open_acceptor(acceptor, state_->config.address, state_->config.port, true));
  state_->children.spawn(state_->accept_all());
  return acceptor.local_endpoint().port();
}

std::size_t Listener::connections() const { return state_->pool.size(); }

asio::awaitable<void> Listener::shutdown(Millis deadline) {
  auto state = state_;
  state->ending = true;
  ErrorCode ignored;
  state->take_in_the_rest();
  state->acceptor.close(ignored);
  for (Transport* idle : state->waiting) idle->cancel();
  Scope closing(state->loop);
  closing.spawn(state->give_up_the_silent());
  state->parting = state->sockets.size();
  for (const auto& socket : state->sockets) {
    closing.spawn(state->part_with(socket));
  }
  const auto end = std::chrono::steady_clock::now() + deadline;
  co_await asio::post(state->loop, asio::use_awaitable);  // those that were taken in last begin
  while (state->pool.size() > 0 || state->parting > 0) {
    const auto left = std::chrono::duration_cast<Millis>(end - std::chrono::steady_clock::now());
    if (left.count() <= 0) break;
    auto changed = co_await state->idle.wait_for(left);
    static_cast<void>(changed);
  }
  closing.cancel();
  co_await closing.join();
  state->children.cancel();
  co_await state->children.join();
}

}  // namespace cay::http
