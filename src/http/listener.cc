#include "http/listener.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/websocket/rfc6455.hpp>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <list>
#include <map>
#include <optional>
#include <set>

#include "async/deadline.h"
#include "async/event.h"
#include "async/scope.h"
#include "base/hang_up.h"
#include "http/live_exchange.h"
#include "http/raw_stream.h"
#include "http/request_head.h"
#include "http/server_tls.h"

namespace cay::http {
namespace {

namespace bhttp = beast::http;
using namespace asio::experimental::awaitable_operators;  // NOLINT(google-build-using-namespace)

constexpr int kGoingAway = 1001;
constexpr std::size_t kMaxBuffer = 128 * 1024;

}  // namespace

// What the pool knows of one connection.
struct Guest {
  Transport* transport = nullptr;  // where it is now: it moves into a channel. Null: not yet, or already gone
  enum class In { kStrangers, kKnown, kNone } list = In::kNone;  // strangers: nobody was let in on it so far
  std::list<Guest*>::iterator place;                             // in that list
  bool refused = false;                // the pool is full
  std::optional<Caller> caller;        // who was let in on it last
  std::weak_ptr<LiveExchange> at_work;  // its request; none: it waits for the next
};

struct Listener::State : std::enable_shared_from_this<Listener::State> {
  State(asio::any_io_executor executor, ListenerConfig settings, Handler handle)
      : loop(executor), config(std::move(settings)), handler(std::move(handle)), acceptor(executor), children(executor), shares(config.shares), idle(executor) {}

  asio::any_io_executor loop;
  ListenerConfig config;
  Handler handler;
  asio::ip::tcp::acceptor acceptor;
  Scope children;
  std::set<Transport*> waiting;    // between requests: closed at once on shutdown
  std::set<std::shared_ptr<SocketCore>> sockets;
  std::size_t connections = 0;
  ConnectionShares shares;
  std::list<Guest*> strangers, known;  // the oldest first
  bool ending = false;
  std::chrono::steady_clock::time_point complain_again{};  // of accept()
  Event idle;                      // notified when a connection ends

  asio::awaitable<void> accept_all() {
    while (!ending) {
      asio::ip::tcp::socket socket(loop);
      ErrorCode error;
      co_await acceptor.async_accept(socket, to(error));
      if (error == asio::error::operation_aborted || ending) co_return;
      if (error) {  // out of descriptors: let some go first
        const auto now = std::chrono::steady_clock::now();
        if (config.log && now >= complain_again) {
          config.log("accept: " + error.message() + ": who comes now waits until others have gone");
          complain_again = now + std::chrono::minutes(1);
        }
        co_await sleep_for(Millis{100});
        continue;
      }
      ErrorCode ignored;
      socket.set_option(asio::ip::tcp::no_delay(true), ignored);
      const auto remote = socket.remote_endpoint(ignored);
      if (remote.address().is_loopback()) without_pacing(socket.native_handle());
      std::string peer = remote.address().to_string(ignored) + ":" + std::to_string(remote.port());
      children.spawn(serve(shared_from_this(), Transport(std::move(socket)), std::move(peer)));
    }
  }

  static asio::awaitable<void> serve(std::shared_ptr<State> self, Transport transport, std::string peer) {
    Guest guest;
    self->enter(guest);
    std::exception_ptr failure;
    try {
      if (self->config.tls) {
        co_await self->converse_secured(std::move(transport), peer, guest);
      } else {
        Channel channel(std::move(transport));
        guest.transport = &channel.next_layer();
        co_await self->converse(channel, peer, guest);
      }
    } catch (...) {
      failure = std::current_exception();
    }
    self->leave(guest);
    self->shares.give_back(guest.caller);
    --self->connections;
    self->idle.notify();
    if (failure && !is_cancellation(failure)) self->log_failure(failure);
  }

  // In a full pool the oldest stranger gives way: whoever holds no key must not keep out those who do.
  void enter(Guest& guest) {
    if (++connections > config.max_connections) {
      while (!strangers.empty() && strangers.front()->refused) give_way(*strangers.front());  // it has no place to give
      if (strangers.empty()) {
        guest.refused = true;
      } else {
        give_way(*strangers.front());
      }
    }
    guest.place = strangers.insert(strangers.end(), &guest);
    guest.list = Guest::In::kStrangers;
  }
  void leave(Guest& guest) {
    const auto list = std::exchange(guest.list, Guest::In::kNone);
    if (list == Guest::In::kStrangers) strangers.erase(guest.place);
    if (list == Guest::In::kKnown) known.erase(guest.place);
  }
  void give_way(Guest& guest) {
    leave(guest);
    ErrorCode ignored;  // its coroutine sees the end, and closes it
    if (guest.transport != nullptr) guest.transport->socket().shutdown(asio::socket_base::shutdown_both, ignored);
  }

  Result<void> let_in(Guest& guest, Caller caller) {
    CAY_TRY(const auto gives_up, shares.take(guest.caller, std::move(caller)));
    if (guest.list == Guest::In::kStrangers) {
      known.splice(known.end(), strangers, guest.place);
      guest.list = Guest::In::kKnown;
    }
    if (gives_up) take_from(*gives_up, guest);
    return {};
  }
  // One of `caller`'s connections ends: the oldest that waits for a request, or else the newest. It counts no more from now on.
  void take_from(const Caller& caller, const Guest& newcomer) {
    Guest* chosen = nullptr;
    for (Guest* one : known) {
      if (one == &newcomer || one->caller != caller) continue;
      chosen = one;
      if (one->at_work.expired()) break;
    }
    if (chosen == nullptr) return;
    shares.give_back(chosen->caller);
    if (const auto exchange = chosen->at_work.lock()) {
      leave(*chosen);
      children.spawn(LiveExchange::give_way(exchange, "others need connections, and this caller has the most of them"));
    } else {
      give_way(*chosen);
    }
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

  // Until something can be read, which is left there. nullopt: the peer went, or said nothing.
  asio::awaitable<std::optional<unsigned char>> first_byte(Transport& transport) {
    waiting.insert(&transport);
    auto looking = wait_readable(transport);
    auto looked = co_await with_deadline<void>(std::move(looking), config.head_limit, "the first byte");
    waiting.erase(&transport);
    unsigned char byte = 0;
    if (!looked || ending || ::recv(transport.socket().native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT) != 1) co_return std::nullopt;
    co_return byte;
  }
  static Task<void> wait_readable(Transport& transport) {
    ErrorCode error;
    co_await transport.socket().async_wait(asio::socket_base::wait_read, to(error));
    if (error) co_return broken(error, "wait for the client");
    co_return Result<void>();
  }

  asio::awaitable<void> converse_secured(Transport transport, std::string peer, Guest& guest) {
    constexpr unsigned char kHandshakeRecord = 22;  // RFC 8446, section 5.1
    guest.transport = &transport;
    const auto first = co_await first_byte(transport);
    if (!first) co_return;
    if (*first != kHandshakeRecord) {
      Channel plain(std::move(transport));
      guest.transport = &plain.next_layer();
      beast::flat_buffer buffer(kMaxBuffer);
      RequestParser none;
      co_await refuse(plain, buffer, none, peer, guest, Error{Code::kInvalidArgument, "tls_needed", "this port speaks TLS: use https://", 400});
      co_return;
    }
    const auto context = config.tls->context();  // kept for as long as the connection
    Channel channel(std::move(transport), *context);
    guest.transport = &channel.next_layer();
    channel.next_layer().expires_never();
    auto greeting = ServerTls::handshake(channel);
    auto greeted = co_await with_deadline<void>(std::move(greeting), config.head_limit, "TLS");
    if (!greeted || ending) co_return;
    co_await converse(channel, peer, guest);
  }

  asio::awaitable<void> converse(Channel& channel, const std::string& peer, Guest& guest) {
    beast::flat_buffer buffer(kMaxBuffer);
    if (guest.refused) {
      RequestParser none;
      co_await refuse(channel, buffer, none, peer, guest,
                      Error{Code::kUnavailable, "too_many_connections", "too many connections: try again later", 503});
      co_return;
    }
    for (bool first = true; !ending; first = false) {
      RequestParser parser;
      parser.header_limit(config.max_head);
      parser.body_limit(boost::none);  // each handler has its own limit
      const auto limited = co_await read_head(channel, buffer, parser, first ? config.head_limit : config.idle_limit);
      if (!limited) {
        co_await refuse(channel, buffer, parser, peer, guest, limited.error());
        co_return;
      }
      if (!*limited) co_return;  // the peer went
      auto head = head_of(parser.get(), peer, channel.secured() != nullptr);
      if (auto* wrong = std::get_if<BadRequest>(&head)) {
        RequestHead refused;  // no more of it than what the error's shape goes by
        refused.method = std::string(parser.get().method_string());
        refused.target = std::string(parser.get().target());
        refused.peer = peer;
        auto exchange = make_exchange(channel, buffer, parser, std::move(refused), guest);
        auto response = shaped(exchange->head(), wrong->status, wrong->error);
        exchange->close_after();
        co_await exchange->respond(std::move(response));
        exchange->detach();
        co_await hang_up(channel, buffer);
        co_return;
      }
      auto exchange = make_exchange(channel, buffer, parser, std::get<RequestHead>(std::move(head)), guest);
      guest.at_work = exchange;
      co_await handle(channel, exchange);
      guest.at_work.reset();
      if (exchange->upgraded() || !exchange->answered()) co_return;
      auto fit = co_await exchange->drain();
      exchange->detach();
      if (!fit || !exchange->keep_alive() || ending) {
        co_await hang_up(channel, buffer);
        co_return;
      }
    }
  }
  std::shared_ptr<LiveExchange> make_exchange(Channel& channel, beast::flat_buffer& buffer, RequestParser& parser,
                                               RequestHead head, Guest& guest) {
    auto self = shared_from_this();
    LiveExchange::OnSocket on_socket = [self](std::shared_ptr<SocketCore> socket) -> std::function<void()> {
      self->sockets.insert(socket);
      return [self, socket] { self->sockets.erase(socket); };
    };
    return std::make_shared<LiveExchange>(channel, buffer, parser, std::move(head), config, ending, std::move(on_socket),
                                          [self, &guest](Caller caller) { return self->let_in(guest, std::move(caller)); });
  }

  Task<ErrorCode> read_rest(Channel& channel, beast::flat_buffer& buffer, RequestParser& parser) {
    ErrorCode error;
    co_await bhttp::async_read_header(channel, buffer, parser, to(error));
    co_return error;
  }

  // True: a head was read. False: the peer went, or we are ending. An error: what to refuse it with.
  Task<bool> read_head(Channel& channel, beast::flat_buffer& buffer, RequestParser& parser, Millis patience) {
    ErrorCode error;
    if (buffer.size() == 0) {
      Transport& transport = channel.next_layer();
      waiting.insert(&transport);
      transport.expires_after(patience);
      constexpr std::size_t kRead = 8192;
      const std::size_t got = co_await channel.async_read_some(buffer.prepare(kRead), to(error));
      waiting.erase(&transport);
      if (error || ending) co_return false;
      buffer.commit(got);
    }
    channel.next_layer().expires_never();
    // Not the transport's own time-out, which closes the socket: a slow head is answered.
    auto reading = read_rest(channel, buffer, parser);
    auto done = co_await with_deadline<ErrorCode>(std::move(reading), config.head_limit, "the request's head");
    // (A read that the deadline cut short tells so itself.)
    if (!done || *done == asio::error::operation_aborted) co_return Error{Code::kDeadlineExceeded, "request_timeout", "the request's head did not arrive in time", 408};
    error = *done;
    if (!error) co_return true;
    if (error == bhttp::error::header_limit || error == bhttp::error::buffer_overflow) {
      co_return Error{Code::kInvalidArgument, "head_too_large",
                      "the request's head is longer than " + std::to_string(config.max_head) + " bytes", 431};
    }
    if (error == bhttp::error::end_of_stream || error == bhttp::error::partial_message ||
        error.category() != bhttp::make_error_code(bhttp::error::bad_method).category()) {
      co_return false;
    }
    co_return Error{Code::kInvalidArgument, "bad_request", "this is not an HTTP/1.1 request: " + error.message(), 400};
  }

  // The status to refuse with travels in os_errno.
  asio::awaitable<void> refuse(Channel& channel, beast::flat_buffer& buffer, RequestParser& parser, std::string peer, Guest& guest,
                                Error error) {
    RequestHead head;
    head.peer = std::move(peer);
    const int status = std::exchange(error.os_errno, 0);
    auto exchange = make_exchange(channel, buffer, parser, std::move(head), guest);
    auto response = shaped(exchange->head(), status, error);
    if (status == 503) response.headers.set("Retry-After", "1");
    exchange->close_after();
    co_await exchange->respond(std::move(response));
    exchange->detach();
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
    auto failure = std::make_shared<std::exception_ptr>();
    auto work = guarded(exchange, failure);
    if (exchange->head().upgrades()) {
      co_await std::move(work);
    } else {
      auto watch = until_gone(channel, exchange);
      co_await (std::move(work) || std::move(watch));
    }
    co_await answer_failure(std::move(exchange), *failure);
  }

  // `||` waits for a success: what the handler throws must not count as still running.
  asio::awaitable<void> guarded(std::shared_ptr<LiveExchange> exchange, std::shared_ptr<std::exception_ptr> failure) {
    try {
      co_await handler(exchange);
    } catch (...) {
      *failure = std::current_exception();
    }
  }

  asio::awaitable<void> answer_failure(std::shared_ptr<LiveExchange> exchange, std::exception_ptr failure) {
    if (!failure || is_cancellation(failure)) co_return;
    log_failure(failure);
    if (exchange->answered()) co_return;
    const Error error{Code::kInternal, "internal", "Cay failed at this request; the daemon's log says more", 0};
    auto response = shaped(exchange->head(), 500, error);
    co_await exchange->respond(std::move(response));
  }

  // Ends when the peer has closed its side and nothing of a body can come any more.
  asio::awaitable<void> until_gone(Channel& channel, std::shared_ptr<LiveExchange> exchange) {
    asio::steady_timer never(loop, asio::steady_timer::time_point::max());
    constexpr Millis kLook{200};
    auto& socket = channel.next_layer().socket();
    while (!exchange->is_body_over()) {  // while the handler reads the body it sees the end itself; it may wait for others instead
      if (is_broken(socket.native_handle())) co_return;
      co_await sleep_for(kLook);
    }
    ErrorCode error;
    // What can be read from TLS need not be the end: its closing alert, a session's renewal, a pipelined request.
    while (channel.secured() != nullptr && !has_hung_up(socket.native_handle())) {
      co_await sleep_for(kLook);
    }
    if (channel.secured() != nullptr) co_return;
    co_await socket.async_wait(asio::socket_base::wait_read, to(error));
    if (!socket.is_open()) co_return;  // we broke it off
    if (!error) {
      char byte = 0;
      socket.non_blocking(true, error);
      const auto got = socket.receive(asio::buffer(&byte, 1), asio::socket_base::message_peek, error);
      if (error == asio::error::eof || (error && error != asio::error::would_block) || (!error && got == 0)) co_return;
    }
    co_await never.async_wait(to(error));  // a pipelined request: it waits its turn
  }

  // FIN first, then what the peer still sends is read for a while: closing with unread bytes would be
  // a reset, and the peer could lose the answer.
  asio::awaitable<void> hang_up(Channel& channel, beast::flat_buffer& buffer) {
    ErrorCode error;
    Transport& transport = channel.next_layer();
    if (channel.secured() != nullptr) {
      transport.expires_never();
      auto closing = ServerTls::close(channel);
      auto done = co_await with_deadline<void>(std::move(closing), std::min(config.linger, Millis{1000}), "the end of TLS");
      static_cast<void>(done);
    }
    transport.socket().shutdown(asio::socket_base::shutdown_send, error);
    transport.expires_after(config.linger);
    constexpr std::size_t kRead = 8192;
    // By the clock: a peer that never stops sending would never let a time-out of the transport fire.
    const auto end = std::chrono::steady_clock::now() + config.linger;
    while (!error && !ending && std::chrono::steady_clock::now() < end) {
      buffer.clear();
      co_await transport.async_read_some(buffer.prepare(kRead), to(error));
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

Result<std::uint16_t> Listener::start() {
  ErrorCode error;
  const auto address = asio::ip::make_address(state_->config.address == "localhost" ? "127.0.0.1" : state_->config.address, error);
  if (error) return Error{Code::kInvalidArgument, "bad_address", "'" + state_->config.address + "' is not an IP address", 0};
  const asio::ip::tcp::endpoint endpoint(address, state_->config.port);
  auto& acceptor = state_->acceptor;
  acceptor.open(endpoint.protocol(), error);
  if (!error) acceptor.set_option(asio::socket_base::reuse_address(true), error);
  if (!error) acceptor.bind(endpoint, error);
  if (!error) acceptor.listen(asio::socket_base::max_listen_connections, error);
  if (error) {
    const bool taken = error == asio::error::address_in_use;
    const std::string where = state_->config.address + ":" + std::to_string(state_->config.port);
    return Error{Code::kUnavailable, taken ? "address_in_use" : "listen_failed",
                 taken ? where + " is in use: another daemon? choose another with --listen" : "listen on " + where + ": " + error.message(),
                 error.value()};
  }
  state_->children.spawn(state_->accept_all());
  return acceptor.local_endpoint().port();
}

std::size_t Listener::connections() const { return state_->connections; }

asio::awaitable<void> Listener::shutdown(Millis deadline) {
  auto state = state_;
  state->ending = true;
  ErrorCode ignored;
  state->acceptor.close(ignored);
  for (Transport* idle : state->waiting) idle->cancel();
  Scope closing(state->loop);
  for (const auto& socket : state->sockets) {
    closing.spawn(Socket::close_of(socket, kGoingAway, "the daemon is ending; connect again"));
  }
  const auto end = std::chrono::steady_clock::now() + deadline;
  while (state->connections > 0) {
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
