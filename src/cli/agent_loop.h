// AgentLoop: runs coroutines of an agent on this thread, to their ends.
#pragma once
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <exception>
#include <functional>
#include <optional>
#include <utility>

#include "async/task.h"
#include "client/errors.h"

namespace cay::cli {

class AgentLoop {
 public:
  asio::any_io_executor executor() { return loop_.get_executor(); }

  // Returns the result, or throws it as ApiError.
  template <class T>
  T wait(Task<T> task) {
    return client::value_or_raise(result_of(std::move(task)));
  }
  // The same. Meanwhile Ctrl-C and a TERM call `interrupt`, and a second one ends this program.
  template <class T>
  T wait(Task<T> task, std::function<void()> interrupt) {
    const Interrupts interrupts(loop_, std::move(interrupt));
    return client::value_or_raise(result_of(std::move(task)));
  }

 private:
  class Interrupts {
   public:
    Interrupts(asio::io_context& loop, std::function<void()> interrupt);
    ~Interrupts();
    Interrupts(const Interrupts&) = delete;

   private:
    struct State;
    std::shared_ptr<State> state_;
  };

  template <class T>
  Result<T> result_of(Task<T> task) {
    std::optional<Result<T>> out;
    asio::co_spawn(loop_, store<T>(std::move(task), &out), [this](std::exception_ptr failed) {
      failed_ = std::move(failed);
      ended_ = true;
    });
    run();
    return *std::move(out);
  }
  template <class T>
  static asio::awaitable<void> store(Task<T> task, std::optional<Result<T>>* out) {
    auto got = co_await std::move(task);
    out->emplace(std::move(got));
  }
  void run();  // until ended_; throws what the coroutine threw

  asio::io_context loop_{1};
  bool ended_ = false;
  std::exception_ptr failed_;
};

}  // namespace cay::cli
