// Server: the listeners and the set of connections.
#include "http/server.h"

#include <spdlog/spdlog.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <unordered_set>
#include <vector>

#include "async/deadline.h"
#include "async/event.h"
#include "async/scope.h"
#include "http/connection.h"

namespace cay::http {

namespace {

using asio::ip::tcp;
using Local = asio::local::stream_protocol;

constexpr std::string_view kFull =
    "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nContent-Type: application/json\r\n"
    "Content-Length: 75\r\nConnection: close\r\n\r\n"
    "{\"error\":{\"code\":\"too_many_connections\",\"message\":\"Try again in a moment\"}}";

std::string name_of(const tcp::endpoint& peer) {
  const auto address = peer.address();
  const auto text = address.to_string();
  return (address.is_v6() ? "[" + text + "]" : text) + ":" + std::to_string(peer.port());
}
std::string name_of(const Local::endpoint&) { return "unix"; }

Error listen_error(const ErrorCode& error, const std::string& where) {
  if (error == asio::error::address_in_use) {
    return Error{Code::kAlreadyExists, "address_in_use",
                 where + " is in use by another program: stop it, or listen on another port", error.value()};
  }
  return Error::from_errno(error.value(), "listen on " + where, "listen_failed");
}

}  // namespace

struct Server::State : std::enable_shared_from_this<Server::State> {
  State(asio::any_io_executor ex, ServerOptions opts, ServerHandler fn)
      : executor(ex),
        options(std::make_shared<const ServerOptions>(std::move(opts))),
        handler(std::make_shared<const ServerHandler>(std::move(fn))),
        acceptors(ex),
        changed(ex) {}

  template <class Protocol>
  asio::awaitable<void> accept_all(std::shared_ptr<typename Protocol::acceptor> acceptor);
  void start(Stream::Socket socket, std::string peer);

  asio::any_io_executor executor;
  std::shared_ptr<const ServerOptions> options;
  std::shared_ptr<const ServerHandler> handler;
  Scope acceptors;
  std::unordered_set<std::shared_ptr<Connection>> connections;
  Event changed;
  std::vector<std::string> socket_files;
};

template <class Protocol>
asio::awaitable<void> Server::State::accept_all(std::shared_ptr<typename Protocol::acceptor> acceptor) {
  auto self = shared_from_this();
  for (;;) {
    typename Protocol::endpoint peer;
    typename Protocol::socket socket(executor);
    auto [error] = co_await acceptor->async_accept(socket, peer, asio::as_tuple(asio::use_awaitable));
    if (error == asio::error::operation_aborted || error == asio::error::bad_descriptor) co_return;
    if (error) {  // out of descriptors, mostly: connections end, so trying again helps
      spdlog::warn("accept: {}", error.message());
      co_await sleep_for(Millis(100));
      continue;
    }
    start(Stream::Socket(std::move(socket)), name_of(peer));
  }
}

void Server::State::start(Stream::Socket socket, std::string peer) {
  if (connections.size() >= options->max_connections) {
    static_cast<void>(::send(socket.native_handle(), kFull.data(), kFull.size(), MSG_DONTWAIT | MSG_NOSIGNAL));
    return;
  }
  set_stream_options(socket);
  auto stream = std::make_shared<Stream>(std::move(socket));
  auto connection = std::make_shared<Connection>(std::move(stream), std::move(peer), options, handler);
  connections.insert(connection);
  auto ended = [self = shared_from_this(), connection](std::exception_ptr failure) {
    self->connections.erase(connection);
    self->changed.notify();
    if (!failure || is_cancellation(failure)) return;
    try {
      std::rethrow_exception(failure);
    } catch (const std::exception& e) {
      spdlog::error("connection: {}", e.what());
    }
  };
  asio::co_spawn(executor, connection->run(), asio::bind_cancellation_slot(connection->slot(), std::move(ended)));
}

Server::Server(asio::any_io_executor executor, ServerOptions options, ServerHandler handler)
    : state_(std::make_shared<State>(std::move(executor), std::move(options), std::move(handler))) {}

Server::~Server() {
  state_->acceptors.cancel();
  const auto open = state_->connections;
  for (const auto& connection : open) connection->cancel();
  for (const auto& file : state_->socket_files) ::unlink(file.c_str());
}

Result<Endpoint> Server::listen(std::string address, std::uint16_t port) {
  if (address == "localhost") address = "127.0.0.1";
  if (address.size() > 2 && address.front() == '[' && address.back() == ']') address = address.substr(1, address.size() - 2);
  ErrorCode error;
  const auto ip = asio::ip::make_address(address, error);
  if (error) {
    return Error{Code::kInvalidArgument, "bad_address",
                 "\"" + address + "\" is not a numeric address: give one such as 127.0.0.1 or ::1", 0};
  }
  const tcp::endpoint wanted(ip, port);
  auto acceptor = std::make_shared<tcp::acceptor>(state_->executor);
  acceptor->open(wanted.protocol(), error);
  if (!error) acceptor->set_option(tcp::acceptor::reuse_address(true), error);
  if (!error) acceptor->bind(wanted, error);
  if (!error) acceptor->listen(1024, error);
  if (error) return listen_error(error, name_of(wanted));
  const auto actual = acceptor->local_endpoint(error);
  if (error) return listen_error(error, name_of(wanted));
  state_->acceptors.spawn(state_->accept_all<tcp>(std::move(acceptor)));
  return Endpoint{actual.address().to_string(), actual.port(), actual.address().is_loopback()};
}

Result<void> Server::listen_unix(std::string path) {
  if (path.empty() || path.size() >= sizeof(sockaddr_un{}.sun_path)) {
    return Error{Code::kInvalidArgument, "bad_address", "the socket's path is empty or longer than 107 bytes: " + path, 0};
  }
  const Local::endpoint endpoint(path);
  ErrorCode error;
  Local::socket probe(state_->executor);
  probe.connect(endpoint, error);
  if (!error) return listen_error(asio::error::make_error_code(asio::error::address_in_use), path);
  struct stat st{};
  if (::lstat(path.c_str(), &st) == 0 && S_ISSOCK(st.st_mode)) ::unlink(path.c_str());
  auto acceptor = std::make_shared<Local::acceptor>(state_->executor);
  error = {};
  acceptor->open(endpoint.protocol(), error);
  // The mode must be narrow before anybody can connect: bound, not yet listening.
  if (!error) acceptor->bind(endpoint, error);
  if (!error && ::chmod(path.c_str(), 0600) != 0) error = ErrorCode(errno, boost::system::system_category());
  if (!error) acceptor->listen(1024, error);
  if (error) return listen_error(error, path);
  state_->socket_files.push_back(std::move(path));
  state_->acceptors.spawn(state_->accept_all<Local>(std::move(acceptor)));
  return {};
}

asio::awaitable<void> Server::shutdown(Millis deadline) {
  auto state = state_;
  state->acceptors.cancel();
  co_await state->acceptors.join();
  for (const auto& file : state->socket_files) ::unlink(file.c_str());
  state->socket_files.clear();
  auto open = state->connections;
  for (const auto& connection : open) connection->start_shutdown();
  const auto until = std::chrono::steady_clock::now() + deadline;
  while (!state->connections.empty()) {
    const auto left = std::chrono::duration_cast<Millis>(until - std::chrono::steady_clock::now());
    if (left <= Millis(0)) break;
    auto woken = co_await state->changed.wait_for(left);
    static_cast<void>(woken);
  }
  open = state->connections;
  for (const auto& connection : open) connection->cancel();
  open.clear();
  while (!state->connections.empty()) {
    co_await state->changed.wait();
  }
}

std::size_t Server::connections() const { return state_->connections.size(); }

}  // namespace cay::http
