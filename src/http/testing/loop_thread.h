// LoopThread: an event loop on a thread of its own, with a Listener on it, so that a test can use
// plain blocking calls.
#pragma once
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_future.hpp>
#include <future>
#include <memory>
#include <thread>

#include "http/listener.h"

namespace cay::http::testing {

class LoopThread {
 public:
  LoopThread() : work_(loop_.get_executor()), thread_([this] { loop_.run(); }) {}
  ~LoopThread() {
    work_.reset();
    loop_.stop();
    thread_.join();
  }
  asio::io_context& loop() { return loop_; }

  // Runs on the loop, waits here.
  template <class T>
  T await(asio::awaitable<T> body) {
    return asio::co_spawn(loop_, std::move(body), asio::use_future).get();
  }
  template <class Fn>
  auto call(Fn fn) {
    std::packaged_task<decltype(fn())()> task(std::move(fn));
    auto result = task.get_future();
    auto job = [&task] { task(); };  // a packaged_task itself would be taken for a completion token
    asio::post(loop_, job);
    return result.get();
  }

 private:
  asio::io_context loop_;
  asio::executor_work_guard<asio::io_context::executor_type> work_;
  std::thread thread_;
};

class TestServer {
 public:
  explicit TestServer(Handler handler, ListenerConfig options = {}) {
    auto make = [&] {
      server_ = std::make_unique<Listener>(thread_.loop().get_executor(), std::move(options),
                                           std::move(handler));
      return server_->start();
    };
    auto port = thread_.call(make);
    if (port) port_ = *port;
  }
  ~TestServer() {
    if (server_) stop(Millis(0));
  }
  void stop(Millis deadline) {
    thread_.await(server_->shutdown(deadline));
    thread_.call([&] { server_.reset(); });
  }
  std::uint16_t port() const { return port_; }
  Listener& server() { return *server_; }
  LoopThread& thread() { return thread_; }

 private:
  LoopThread thread_;
  std::unique_ptr<Listener> server_;
  std::uint16_t port_ = 0;
};

}  // namespace cay::http::testing
