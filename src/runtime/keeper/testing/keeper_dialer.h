// Dialers to a real keeper of the tests, straight and through a proxy that cuts the connection.
#pragma once
#include <sys/socket.h>

#include <boost/asio/local/connect_pair.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <array>
#include <memory>
#include <random>
#include <utility>

#include "async/spawn.h"
#include "keeper/testing/local_keeper.h"
#include "runtime/keeper/dialer.h"

namespace cay::runtime::testing {

inline Result<StreamSocket> socket_to(asio::any_io_executor loop,
                                      const keeper::testing::LocalKeeper& keeper) {
  try {
    UniqueFd fd = keeper.connect();
    sockaddr_storage address{};
    socklen_t size = sizeof address;
    ::getsockname(fd.get(), reinterpret_cast<sockaddr*>(&address), &size);
    StreamSocket socket(loop);
    socket.assign(asio::generic::stream_protocol(address.ss_family, 0), fd.release());
    return socket;
  } catch (const std::exception& refused) {
    return Error{Code::kNotFound, "connect_failed", refused.what(), 0};
  }
}

inline Dialer straight(const keeper::testing::LocalKeeper& keeper) {
  return [&keeper]() -> Task<StreamSocket> {
    auto loop = co_await asio::this_coro::executor;
    co_return socket_to(loop, keeper);
  };
}

// Lets a random number of bytes through from the keeper, then closes both ends; so `cuts` times.
class Cutter {
 public:
  Cutter(const keeper::testing::LocalKeeper& keeper, unsigned seed, int cuts, std::size_t most)
      : keeper_(keeper), random_(seed), left_(cuts), most_(most) {}

  Dialer dialer() {
    return [this] { return dial(); };
  }
  int cuts_left() const { return left_; }

 private:
  struct Pipe {
    StreamSocket near, far;
    std::size_t allowed;
    bool cuts;
    void close() {
      boost::system::error_code ignored;
      near.close(ignored);
      far.close(ignored);
    }
  };

  Task<StreamSocket> dial() {
    auto loop = co_await asio::this_coro::executor;
    CAY_CO_TRY(auto far, socket_to(loop, keeper_));
    asio::local::stream_protocol::socket ours(loop), near(loop);
    asio::local::connect_pair(ours, near);
    const bool cuts = left_ > 0;
    const std::size_t allowed = std::uniform_int_distribution<std::size_t>(1, most_)(random_);
    auto pipe =
        std::make_shared<Pipe>(Pipe{StreamSocket(std::move(near)), std::move(far), allowed, cuts});
    spawn(loop, "proxy", relay(pipe, true));
    spawn(loop, "proxy", relay(pipe, false));
    co_return StreamSocket(std::move(ours));
  }

  asio::awaitable<void> relay(std::shared_ptr<Pipe> pipe, bool from_keeper) {
    StreamSocket& from = from_keeper ? pipe->far : pipe->near;
    StreamSocket& to = from_keeper ? pipe->near : pipe->far;
    std::array<char, 32 * 1024> buffer;
    boost::system::error_code failed;
    while (!failed) {
      auto got = co_await from.async_read_some(asio::buffer(buffer),
                                               asio::redirect_error(asio::use_awaitable, failed));
      if (failed) break;
      const bool cut = from_keeper && pipe->cuts && got >= pipe->allowed;
      if (cut) got = pipe->allowed;
      if (from_keeper) pipe->allowed -= pipe->cuts ? got : 0;
      co_await asio::async_write(to, asio::buffer(buffer, got),
                                 asio::redirect_error(asio::use_awaitable, failed));
      if (cut) {
        --left_;
        break;
      }
    }
    pipe->close();
  }

  const keeper::testing::LocalKeeper& keeper_;
  std::mt19937 random_;
  int left_;
  std::size_t most_;
};

}  // namespace cay::runtime::testing
