#include "client/forwarder.h"

#include <array>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <utility>

#include "async/event.h"
#include "async/until_set.h"
#include "client/api.h"
#include "client/command_stream.h"
#include "client/retry.h"
#include "client/tunnel_stream.h"
#include "http/raw_stream.h"

namespace cay::client {
namespace {

using Tcp = asio::ip::tcp;
using SystemError = boost::system::error_code;

constexpr std::size_t kPiece = 64 * 1024;
constexpr Millis kAcceptPause{100};

Error cannot_listen(const sdk::ForwardOptions& options, const SystemError& failed) {
  const std::string where = options.address + ":" + std::to_string(options.local_port);
  if (failed == asio::error::address_in_use) {
    return Error{
        Code::kAlreadyExists, "port_in_use",
        where + " is in use on this machine: choose another local port, as 0 for any free one",
        failed.value()};
  }
  const Code code =
      failed == asio::error::access_denied ? Code::kPermissionDenied : Code::kInvalidArgument;
  return Error{code, "cannot_listen", "listen on " + where + ": " + failed.message(),
               failed.value()};
}

// One local connection and its tunnel, until both directions have come to their ends or one broke.
class Relay {
 public:
  Relay(Tcp::socket& socket, TunnelStream& tunnel, const asio::any_io_executor& executor)
      : socket_(socket), tunnel_(tunnel), over_(executor) {}

  Task<void> run(asio::any_io_executor executor) {
    Scope pumps(std::move(executor));
    pumps.spawn(up());
    pumps.spawn(down());
    co_await pumps.until(over_.wait());
    co_return std::move(outcome_);
  }

 private:
  asio::awaitable<void> up() {
    auto done = co_await pump_up();
    // The other direction reports a break inside, after the last bytes that came.
    if (done) finished_one();
  }
  Task<void> pump_up() {
    std::array<char, kPiece> buffer;
    for (;;) {
      SystemError failed;
      const auto got = co_await socket_.async_read_some(
          asio::buffer(buffer), asio::redirect_error(asio::use_awaitable, failed));
      if (failed == asio::error::eof) break;
      if (failed) {
        fail(Error{Code::kCancelled, "local_connection_lost",
                   "the local program broke its connection: " + failed.message(), failed.value()});
        co_return outcome_;
      }
      CAY_CO_CHECK(co_await tunnel_.write(std::string(buffer.data(), got)));
    }
    auto shut = co_await tunnel_.shut_write();
    co_return shut;
  }

  asio::awaitable<void> down() {
    auto done = co_await pump_down();
    if (!done) co_return fail(std::move(done).error());
    finished_one();
  }
  Task<void> pump_down() {
    for (;;) {
      CAY_CO_TRY(const auto bytes, co_await tunnel_.read());
      SystemError failed;
      if (bytes.empty()) {
        socket_.shutdown(Tcp::socket::shutdown_send, failed);
        co_return Result<void>();  // a local program that is gone is seen by the other direction
      }
      co_await asio::async_write(socket_, asio::buffer(bytes),
                                 asio::redirect_error(asio::use_awaitable, failed));
      if (failed)
        co_return Error{Code::kCancelled, "local_connection_lost",
                        "the local program broke its connection: " + failed.message(),
                        failed.value()};
    }
  }

  void finished_one() {
    if (++finished_ == 2) over_.set();
  }
  void fail(Error error) {
    if (outcome_) outcome_ = std::move(error);
    over_.set();
  }

  Tcp::socket& socket_;
  TunnelStream& tunnel_;
  int finished_ = 0;
  Result<void> outcome_;
  Event over_;
};

// For a daemon that gives a tunnel without frames: the bytes stay in the kernel.
Task<void> relay_unframed(Tcp::socket& socket, http::RawStream& tunnel) {
  tunnel.call_breaks(Error{Code::kCancelled, "connection_reset",
                           "the program inside broke the connection, or the daemon ended", 0});
  SystemError ignored;
  if (socket.remote_endpoint(ignored).address().is_loopback())
    http::without_pacing(socket.native_handle());
  auto channel = std::make_shared<http::Channel>(http::Transport(std::move(socket)));
  http::RawStream local(std::move(channel), {},
                        Error{Code::kCancelled, "local_connection_lost",
                              "the local program broke its connection", 0});
  auto passed = co_await splice(local, tunnel);
  if (!passed && passed.error().reason != "local_connection_lost") {
    co_await local.let_arrive();
  }
  co_return passed;
}

// The local program sees a reset, never an end that looks like success.
void break_off(Tcp::socket& socket) {
  SystemError ignored;
  socket.set_option(asio::socket_base::linger(true, 0), ignored);
  socket.close(ignored);
}

struct OpenTunnel {
  std::unique_ptr<http::RawStream> unframed;  // or
  std::unique_ptr<TunnelStream> framed;
};

Task<OpenTunnel> open_one(Connection& connection, const std::string& ref, std::uint16_t port) {
  OpenTunnel out;
  auto target = sandbox_target(ref, "/tunnel?port=" + std::to_string(port));
  CAY_CO_TRY(out.unframed, co_await connection.tunnel(std::move(target)));
  if (!out.unframed) {
    CAY_CO_TRY(out.framed, co_await TunnelStream::open(connection, ref, port));
  }
  co_return out;
}

Task<OpenTunnel> open_patiently(Connection& connection, std::string ref, std::uint16_t port) {
  Retry retry(connection.executor(), connection.options().reconnect_for_s);
  while (true) {
    auto tunnel = co_await open_one(connection, ref, port);
    if (tunnel || !worth_a_retry(tunnel.error())) co_return std::move(tunnel);
    auto again = co_await retry.pause();  // the daemon may be restarting
    if (!again) co_return std::move(tunnel).error();
  }
}

}  // namespace

Forwarder::Forwarder(Connection& connection, std::string ref, sdk::ForwardOptions options,
                     Tcp::acceptor acceptor)
    : connection_(connection),
      ref_(std::move(ref)),
      options_(std::move(options)),
      acceptor_(std::move(acceptor)),
      closed_one_(connection.executor()),
      work_(connection.executor()) {}

Task<std::shared_ptr<Forwarder>> Forwarder::listen(Connection& connection, std::string ref,
                                                   sdk::ForwardOptions options) {
  // By its id from here on: a name that is given away must not lead the next connection elsewhere.
  CAY_CO_TRY(ref, co_await id_of(connection, std::move(ref)));
  if (options.remote_port == 0)
    co_return Error{Code::kInvalidArgument, "invalid_port", "a port is 1 to 65535", 0};
  SystemError failed;
  const auto address = asio::ip::make_address(options.address, failed);
  if (failed)
    co_return Error{Code::kInvalidArgument, "bad_address",
                    "'" + options.address + "' is no IP address of this machine", 0};
  const Tcp::endpoint endpoint(address, options.local_port);
  Tcp::acceptor acceptor(connection.executor());
  acceptor.open(endpoint.protocol(), failed);
  if (!failed) acceptor.set_option(Tcp::acceptor::reuse_address(true), failed);
  if (!failed) acceptor.bind(endpoint, failed);
  if (!failed) acceptor.listen(asio::socket_base::max_listen_connections, failed);
  if (failed) co_return cannot_listen(options, failed);
  options.local_port = acceptor.local_endpoint().port();
  std::shared_ptr<Forwarder> out(
      new Forwarder(connection, std::move(ref), std::move(options), std::move(acceptor)));
  out->work_.spawn(out->accept_all());
  co_return std::move(out);
}

asio::awaitable<void> Forwarder::accept_all() {
  for (;;) {
    while (open_ >= kMost) {
      co_await closed_one_.wait();
    }
    Tcp::socket socket(connection_.executor());
    SystemError failed;
    co_await acceptor_.async_accept(socket, asio::redirect_error(asio::use_awaitable, failed));
    if (failed == asio::error::operation_aborted) co_return;
    if (failed) {  // out of descriptors, or the peer went already
      auto freed = co_await closed_one_.wait_for(kAcceptPause);
      static_cast<void>(freed);
      continue;
    }
    ++open_;
    work_.spawn(serve(std::move(socket)));
  }
}

asio::awaitable<void> Forwarder::serve(Tcp::socket socket) {
  SystemError ignored;
  socket.set_option(Tcp::no_delay(true), ignored);
  auto tunnel = co_await open_patiently(connection_, ref_, options_.remote_port);
  Result<void> done;
  if (tunnel && tunnel->unframed) {
    done = co_await relay_unframed(socket, *tunnel->unframed);
  } else if (tunnel) {
    Relay relay(socket, *tunnel->framed, connection_.executor());
    done = co_await relay.run(connection_.executor());
    if (done) {
      co_await tunnel->framed->part();
    }
  } else {
    done = std::move(tunnel).error();
  }
  if (!done) break_off(socket);
  const bool ours = !done && done.error().reason != "local_connection_lost";
  if (ours && options_.on_problem) options_.on_problem(done.error().message);
  --open_;
  closed_one_.notify();
}

asio::awaitable<void> Forwarder::close() {
  SystemError ignored;
  acceptor_.close(ignored);
  work_.cancel();
  co_await work_.join();
}

}  // namespace cay::client
