// Stream: a connected TCP or UNIX socket and the bytes read ahead from it.
#pragma once
#include <boost/asio/buffer.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/system/error_code.hpp>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "async/task.h"
#include "base/clock.h"

namespace cay::http {

using ErrorCode = boost::system::error_code;

// One reader and one writer at a time; both may run at once. An operation that is cut short by
// close() or by cancellation returns an error; a cancelled caller then throws at its next wait.
class Stream {
 public:
  using Socket = asio::generic::stream_protocol::socket;
  explicit Stream(Socket socket);

  // Takes up to `size` bytes: those read ahead first. 0 bytes with no error: the peer's end.
  struct Read {
    std::size_t bytes = 0;
    ErrorCode error;
  };
  asio::awaitable<Read> read_some(char* data, std::size_t size);
  // Reads once from the socket (not from what was read ahead) behind buffered().
  asio::awaitable<Read> fill();
  // All of the buffers, or an error.
  asio::awaitable<ErrorCode> write(std::string_view bytes);
  asio::awaitable<ErrorCode> write_all(const std::vector<asio::const_buffer>& buffers);

  // Bytes read ahead and not consumed.
  std::string_view buffered() const { return std::string_view(buffer_).substr(begin_); }
  void consume(std::size_t size);

  // Calls once the peer has closed or broken the connection. Nothing is called once bytes came
  // instead, nor after unwatch(). No read may run meanwhile.
  void watch_peer(std::function<void()> gone);
  void unwatch();

  void cancel();          // ends the operations that run with an error
  void shutdown_send();   // FIN
  void close();
  // Says goodbye properly: FIN, then reads and drops what still comes (else the kernel would answer
  // it with RST, which destroys what the peer has not read yet), then closes.
  asio::awaitable<void> linger(Millis limit);
  void abort();           // RST: the peer must notice that what it got is not all
  bool is_open() const { return socket_.is_open(); }
  // What came since (without waiting); false: the peer is gone or sent what nobody asked for.
  bool is_quiet();
  // Milliseconds since the peer's kernel last acknowledged anything; nullopt: not TCP.
  std::optional<std::uint32_t> millis_since_ack();
  asio::any_io_executor executor() { return socket_.get_executor(); }

 private:
  asio::awaitable<void> drop_input();

  Socket socket_;
  std::string buffer_;
  std::size_t begin_ = 0;
  std::shared_ptr<std::function<void()>> watcher_;
};

// TCP_NODELAY and keep-alive probes, where the socket is TCP.
void set_stream_options(Stream::Socket& socket);

}  // namespace cay::http
