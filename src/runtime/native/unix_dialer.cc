#include "runtime/native/unix_dialer.h"

#include <fcntl.h>

#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/this_coro.hpp>
#include <cerrno>
#include <filesystem>

#include "base/unique_fd.h"

namespace cay::runtime {
namespace {

Task<StreamSocket> dial_unix(std::string path) {
  const std::filesystem::path whole(path);
  const UniqueFd directory(::open(whole.parent_path().c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!directory) {
    const boost::system::error_code failed(errno, boost::system::system_category());
    co_return connect_error(whole.filename().string(), failed);
  }
  // sockaddr_un holds 107 bytes; data directories may be deeper.
  const std::string shortened =
      "/proc/self/fd/" + std::to_string(directory.get()) + "/" + whole.filename().string();
  auto executor = co_await asio::this_coro::executor;
  StreamSocket socket(executor);
  const asio::local::stream_protocol::endpoint endpoint(shortened);
  boost::system::error_code failed;
  socket.open(asio::local::stream_protocol(), failed);
  if (!failed) socket.non_blocking(true, failed);
  // A UNIX connect never waits when it is non-blocking: a full backlog is EAGAIN, tried again
  // later.
  if (!failed) socket.connect(endpoint, failed);
  if (failed) co_return connect_error(whole.filename().string(), failed);
  co_return std::move(socket);
}

}  // namespace

Dialer unix_dialer(std::string path) {
  return [path = std::move(path)] { return dial_unix(path); };
}

}  // namespace cay::runtime
