#include "http/tolerant_transport.h"

#include <sys/socket.h>

#include <cerrno>
#include <string_view>

#include "async/event.h"
#include "async/piped.h"

namespace cay::http {
namespace {

// Half a frame must be the last that the peer gets.
class Whole {
 public:
  explicit Whole(Transport& transport) : transport_(&transport) {}
  Whole(const Whole&) = delete;
  Whole& operator=(const Whole&) = delete;
  ~Whole() {
    if (transport_ != nullptr) transport_->close();
  }
  void done() { transport_ = nullptr; }

 private:
  Transport* transport_;
};

}  // namespace

asio::awaitable<void> TolerantTransport::until_written() {
  while (writing_) {
    ErrorCode woken;
    co_await write_over_.async_wait(to(woken));
    co_await throw_if_cancelled();
  }
}

asio::awaitable<void> TolerantTransport::write_past(std::string head, KernelPipe payload) {
  Whole whole(next_.next_layer());
  auto& socket = next_.next_layer().socket();
  ErrorCode error;
  // The head goes out with the payload's first bytes.
  for (std::string_view left = head; !left.empty() && !error;) {
    const ssize_t sent = ::send(socket.native_handle(), left.data(), left.size(), MSG_MORE | MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent >= 0) {
      left.remove_prefix(static_cast<std::size_t>(sent));
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      co_await socket.async_wait(asio::socket_base::wait_write, to(error));
      co_await throw_if_cancelled();
    } else if (errno != EINTR) {
      error = ErrorCode(errno, boost::system::system_category());
    }
  }
  if (!error) {
    co_await give_to(socket, payload, error);
  }
  if (error) broken_ = true;
  whole.done();
}

}  // namespace cay::http
