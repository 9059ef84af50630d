// run(loop, task): drives a loop until the task is done, and returns its result. drain(loop) runs
// all ready handlers. start(loop, task) begins a task, and the test looks at its end later.
#pragma once
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <exception>
#include <memory>
#include <optional>

#include "async/task.h"
#include "base/assert.h"

namespace cay::core::testing {

// A task under way. `cancel()` is a caller that goes away.
template <class T>
struct Started {
  std::optional<Result<T>> result;
  std::exception_ptr thrown;
  asio::cancellation_signal signal;

  bool done() const { return result.has_value() || thrown != nullptr; }
  void cancel() { signal.emit(asio::cancellation_type::all); }
};

inline void drain(asio::io_context& loop) {
  loop.restart();
  while (loop.poll() > 0) {
  }
}

template <class T>
std::shared_ptr<Started<T>> start(asio::io_context& loop, Task<T> task) {
  auto started = std::make_shared<Started<T>>();
  asio::co_spawn(
      loop, std::move(task),
      asio::bind_cancellation_slot(started->signal.slot(),
                                   [started](std::exception_ptr thrown, Result<T> result) {
                                     if (thrown) {
                                       started->thrown = thrown;
                                     } else {
                                       started->result = std::move(result);
                                     }
                                   }));
  drain(loop);
  return started;
}

// Waits (real time, for timers of the loop) until the started task is done.
template <class T>
Result<T> finish(asio::io_context& loop, Started<T>& started) {
  loop.restart();
  while (!started.done())
    CAY_ASSERT(loop.run_one() > 0);  // nothing left to run: it would never end
  drain(loop);
  if (started.thrown) std::rethrow_exception(started.thrown);
  return *std::move(started.result);
}

template <class T>
Result<T> run(asio::io_context& loop, Task<T> task) {
  auto started = start<T>(loop, std::move(task));
  return finish<T>(loop, *started);
}

}  // namespace cay::core::testing
