#include "http/tolerant_transport.h"

#include <sys/socket.h>

#include <boost/asio/compose.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/buffers_suffix.hpp>

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

struct TolerantTransport::Write {
  TolerantTransport* to;
  Channel::OutBuffers buffers;
  enum { kWaiting, kWriting, kNowhere } state = kWaiting;
  std::size_t done = 0;

  template <class Self>
  void operator()(Self& self, ErrorCode error = {}, std::size_t written = 0) {
    if (state == kWaiting) {
      if (to->broken_) {
        state = kNowhere;
        return asio::post(to->get_executor(), std::move(self));
      }
      if (to->past_) return to->past_over_.async_wait(std::move(self));
      state = kWriting;
      to->writing_ = true;
      return to->next_.async_write_some(buffers, std::move(self));
    }
    const std::size_t size = beast::buffer_bytes(buffers);
    done += written;
    if (error && error != asio::error::operation_aborted) to->broken_ = true;
    if (to->broken_) {
      error = {};
      done = size;
    } else if (!error && done < size && size <= kWhole) {
      beast::buffers_suffix<Channel::OutBuffers> rest(buffers);
      rest.consume(done);
      return to->next_.async_write_some(rest, std::move(self));
    }
    if (state == kWriting) {
      to->writing_ = false;
      to->write_over_.cancel();
    }
    self.complete(error, done);
  }
};

void TolerantTransport::start_write(const Channel::OutBuffers& from, Channel::OnBytes on_bytes) {
  asio::async_compose<Channel::OnBytes, void(ErrorCode, std::size_t)>(Write{this, from}, on_bytes,
                                                                      next_.next_layer());
}

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
    const ssize_t sent = ::send(socket.native_handle(), left.data(), left.size(),
                                MSG_MORE | MSG_NOSIGNAL | MSG_DONTWAIT);
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

asio::awaitable<void> TolerantTransport::write_last(std::string frame) {
  Whole whole(next_.next_layer());
  ErrorCode ignored;  // who has gone needs none
  co_await asio::async_write(next_, asio::buffer(frame), to(ignored));
  broken_ = true;
  whole.done();
}

}  // namespace cay::http
