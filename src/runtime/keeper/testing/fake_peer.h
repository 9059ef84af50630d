// FakePeer plays the other end of a Link, and a test scripts it frame by frame. FakeHost is the
// listener of such peers.
#pragma once
#include <unistd.h>

#include <boost/asio/buffer.hpp>
#include <boost/asio/local/connect_pair.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <array>
#include <string>
#include <vector>

#include "async/event.h"
#include "async/scope.h"
#include "async/testing.h"
#include "runtime/keeper/link.h"

namespace cay::runtime::testing {

// Runs the script of the other end beside `ours`, and returns when both are done.
inline void play(asio::io_context& loop, asio::awaitable<void> theirs, asio::awaitable<void> ours) {
  const auto both = [&loop](asio::awaitable<void> script,
                            asio::awaitable<void> mine) -> asio::awaitable<void> {
    Scope scope(loop.get_executor());
    scope.spawn(std::move(script));
    co_await std::move(mine);
    co_await scope.join();
  };
  cay::testing::run<void>(loop, both(std::move(theirs), std::move(ours)));
}

class FakePeer {
 public:
  explicit FakePeer(StreamSocket socket) : socket_(std::move(socket)) {}

  // The next frame from the program under test. Throws system_error at the end of the connection.
  asio::awaitable<wire::Frame> read() {
    std::array<char, 64 * 1024> buffer;
    while (true) {
      auto frame = reader_.next();
      if (frame) co_return std::move(*frame);
      auto got = co_await socket_.async_read_some(asio::buffer(buffer), asio::use_awaitable);
      reader_.feed(std::string_view(buffer.data(), got));
    }
  }

  asio::awaitable<void> write_raw(std::string bytes) {
    co_await asio::async_write(socket_, asio::buffer(bytes), asio::use_awaitable);
  }
  asio::awaitable<void> write(wire::Type type, std::uint32_t channel, std::string payload) {
    return write_raw(wire::encode_frame(wire::Frame{.type = static_cast<std::uint16_t>(type),
                                                    .flags = 0,
                                                    .channel = channel,
                                                    .payload = std::move(payload)}));
  }
  template <wire::Message M>
  asio::awaitable<void> write(wire::Type type, std::uint32_t channel, const M& message) {
    return write(type, channel, wire::encode(message));
  }
  asio::awaitable<void> write_data(std::uint32_t channel, std::uint8_t stream, std::uint64_t offset,
                                   std::string bytes) {
    const wire::Data data{.stream = stream, .after_end = false, .offset = offset, .bytes = bytes};
    return write(wire::Type::kData, channel, wire::encode_data(data));
  }

  // Both HELLOs.
  asio::awaitable<void> greet(std::string role, std::string sandbox_id = {},
                              std::vector<std::string> features = {}) {
    wire::Hello hello;
    hello.features = std::move(features);
    hello.role = std::move(role);
    hello.sandbox_id = std::move(sandbox_id);
    co_await write(wire::Type::kHello, 0, hello);
    auto theirs = co_await read();
    static_cast<void>(theirs);
  }

  void close() { socket_.close(); }

 private:
  StreamSocket socket_;
  wire::FrameReader reader_;
};

class FakeHost {
 public:
  FakeHost(asio::any_io_executor loop, std::string path)
      : path_(std::move(path)), acceptor_(loop, asio::local::stream_protocol::endpoint(path_)) {}
  ~FakeHost() { ::unlink(path_.c_str()); }
  FakeHost(const FakeHost&) = delete;
  FakeHost& operator=(const FakeHost&) = delete;

  asio::awaitable<FakePeer> accept() {
    auto socket = co_await acceptor_.async_accept(asio::use_awaitable);
    co_return FakePeer(StreamSocket(std::move(socket)));
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  asio::local::stream_protocol::acceptor acceptor_;
};

struct Ends {
  std::shared_ptr<Link> link;
  FakePeer peer;
};

inline Ends connected(asio::any_io_executor loop) {
  asio::local::stream_protocol::socket ours(loop), theirs(loop);
  asio::local::connect_pair(ours, theirs);
  return {Link::start(StreamSocket(std::move(ours)), "the peer"),
          FakePeer(StreamSocket(std::move(theirs)))};
}

}  // namespace cay::runtime::testing
