// Reads a WebSocket client's frames as the daemon does. Messages stay within their limit, and text
// is UTF-8. There is one end, with a code and a reason that fits into its frame.
#include <sys/socket.h>
#include <unistd.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/beast/http/message.hpp>
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/assert.h"
#include "http/socket.h"

namespace {

using namespace cay::http;
namespace bhttp = beast::http;

constexpr std::size_t kMost = 512;

const bhttp::request<bhttp::empty_body>& opening() {
  static const auto request = [] {
    bhttp::request<bhttp::empty_body> made(bhttp::verb::get, "/", 11);
    made.set(bhttp::field::host, "a");
    made.set(bhttp::field::connection, "Upgrade");
    made.set(bhttp::field::upgrade, "websocket");
    made.set(bhttp::field::sec_websocket_version, "13");
    made.set(bhttp::field::sec_websocket_key, "dGhlIHNhbXBsZSBub25jZQ==");
    return made;
  }();
  return request;
}

boost::asio::awaitable<void> read_all(std::shared_ptr<SocketCore> core) {
  for (;;) {
    const WsMessage message = co_await core->read();
    CAY_ASSERT(message.data.size() <= kMost);
    if (message.kind == WsMessage::Kind::kClosed) {
      // (Beast lets codes above 4999 pass, which no RFC gives a meaning; nobody here goes by them.)
      CAY_ASSERT(message.data.size() <= 123 && message.close_code >= 1000);
      co_return;
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static boost::asio::io_context loop(1);
  int ends[2];
  CAY_ASSERT(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) == 0);
  {
    Transport transport(boost::asio::generic::stream_protocol::socket(
        loop, boost::asio::generic::stream_protocol(AF_UNIX, 0), ends[0]));
    BeastSocket stream{TolerantTransport(Channel(std::move(transport)))};
    prepare(stream);
    ErrorCode error;
    boost::asio::co_spawn(loop, accept_websocket(stream, opening(), ""),
                          [&error](const std::exception_ptr& failure, ErrorCode failed) {
                            CAY_ASSERT(failure == nullptr);
                            error = failed;
                          });
    CAY_ASSERT(::write(ends[1], data, size) == static_cast<ssize_t>(size) &&
               ::shutdown(ends[1], SHUT_WR) == 0);
    loop.restart();
    while (loop.poll() > 0) {
    }
    CAY_ASSERT(!error);
    auto core = std::make_shared<SocketCore>(std::move(stream), SocketCore::Side::kServer, kMost);
    boost::asio::co_spawn(loop, read_all(std::move(core)), [](const std::exception_ptr& failure) {
      CAY_ASSERT(failure == nullptr);
    });
    loop.restart();
    loop.run();
  }
  ::close(ends[1]);
  return 0;
}
