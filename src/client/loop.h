// Loop: an event loop with a thread of its own, on which the synchronous client's coroutines run.
#pragma once
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <exception>
#include <future>
#include <thread>

#include "async/task.h"

namespace cay::client {

class Loop {
 public:
  Loop() : work_(context_.get_executor()), thread_([this] { context_.run(); }) {}
  ~Loop() {
    work_.reset();
    context_.stop();
    thread_.join();
  }
  Loop(const Loop&) = delete;

  asio::any_io_executor executor() { return context_.get_executor(); }

  // Runs it on the loop and waits for it. Not from the loop's own thread.
  template <class T>
  Result<T> wait(Task<T> task) {
    std::promise<Result<T>> promise;
    auto done = promise.get_future();
    asio::co_spawn(context_, std::move(task),
                   [&promise](std::exception_ptr thrown, Result<T> value) {
                     if (thrown) {
                       promise.set_exception(thrown);
                     } else {
                       promise.set_value(std::move(value));
                     }
                   });
    return done.get();
  }

 private:
  asio::io_context context_{1};
  asio::executor_work_guard<asio::io_context::executor_type> work_;
  std::thread thread_;
};

}  // namespace cay::client
