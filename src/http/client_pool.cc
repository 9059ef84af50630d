// ClientPool: connects to one server, and keeps connections that are not in use.
#include "http/client_pool.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "async/deadline.h"
#include "async/event.h"

namespace cay::http {

namespace {
constexpr auto kTuple = asio::as_tuple(asio::use_awaitable);
using asio::ip::tcp;
using Generic = asio::generic::stream_protocol;

Error connect_error(const std::string& where, const ErrorCode& error) {
  return Error{Code::kUnavailable, "connect_failed", "cannot connect to " + where + ": " + error.message(), error.value()};
}
}  // namespace

ClientPool::ClientPool(asio::any_io_executor executor, Url url, Millis connect_timeout, Millis idle_timeout,
                       std::size_t max_idle)
    : executor_(std::move(executor)),
      url_(std::move(url)),
      connect_timeout_(connect_timeout),
      idle_timeout_(idle_timeout),
      max_idle_(max_idle) {}

std::string ClientPool::name() const {
  return url_.scheme == "unix" ? "unix://" + url_.socket_path : "http://" + url_.authority;
}

Task<ClientPool::Lease> ClientPool::take(Prefer prefer) {
  auto self = shared_from_this();
  const auto oldest = std::chrono::steady_clock::now() - idle_timeout_;
  while (prefer == Prefer::kReuse && !idle_.empty()) {
    auto idle = std::move(idle_.back());
    idle_.pop_back();
    // A server that closed meanwhile is found out here, before a request is sent into the void.
    if (idle.since >= oldest && idle.stream->is_quiet()) co_return Lease{std::move(idle.stream), true};
  }
  auto stream = co_await with_deadline(connect(), connect_timeout_, "connecting to " + name());
  if (!stream) {
    auto error = std::move(stream).error();
    if (error.code == Code::kDeadlineExceeded) error.reason = "connect_timeout";
    co_return error;
  }
  co_return Lease{*std::move(stream), false};
}

void ClientPool::give_back(std::shared_ptr<Stream> stream) {
  if (max_idle_ == 0 || !stream->is_quiet()) return;
  while (idle_.size() >= max_idle_) idle_.pop_front();
  idle_.push_back({std::move(stream), std::chrono::steady_clock::now()});
}

Task<std::shared_ptr<Stream>> ClientPool::connect() {
  auto self = shared_from_this();
  if (url_.scheme == "unix") {
    auto stream = co_await connect_unix();
    co_return stream;
  }
  auto stream = co_await connect_tcp();
  co_return stream;
}

Task<std::shared_ptr<Stream>> ClientPool::connect_to(Generic::endpoint endpoint) {
  Stream::Socket socket(executor_);
  ErrorCode error;
  socket.open(endpoint.protocol(), error);
  if (error) co_return connect_error(name(), error);
  auto [failed] = co_await socket.async_connect(endpoint, kTuple);
  co_await throw_if_cancelled();
  if (failed) co_return connect_error(name(), failed);
  set_stream_options(socket);
  co_return std::make_shared<Stream>(std::move(socket));
}

Task<std::shared_ptr<Stream>> ClientPool::connect_unix() {
  if (url_.socket_path.size() > 107) {
    co_return Error{Code::kInvalidArgument, "bad_url", "the socket's path is longer than 107 bytes: " + url_.socket_path, 0};
  }
  const Generic::endpoint endpoint(asio::local::stream_protocol::endpoint(url_.socket_path));
  auto stream = co_await connect_to(endpoint);
  co_return stream;
}

Task<std::shared_ptr<Stream>> ClientPool::connect_tcp() {
  ErrorCode error;
  const auto address = asio::ip::make_address(url_.host, error);
  if (!error) {
    const Generic::endpoint endpoint(tcp::endpoint(address, url_.port));
    auto stream = co_await connect_to(endpoint);
    co_return stream;
  }
  tcp::resolver resolver(executor_);
  const auto port = std::to_string(url_.port);
  auto [unknown, results] = co_await resolver.async_resolve(url_.host, port, kTuple);
  co_await throw_if_cancelled();
  if (unknown) co_return connect_error(name(), unknown);
  Result<std::shared_ptr<Stream>> last = connect_error(name(), asio::error::make_error_code(asio::error::host_not_found));
  for (std::size_t i = 0; i < results.size(); ++i) {
    const Generic::endpoint endpoint(std::next(results.begin(), static_cast<std::ptrdiff_t>(i))->endpoint());
    last = co_await connect_to(endpoint);
    if (last) break;
  }
  co_return last;
}

}  // namespace cay::http
