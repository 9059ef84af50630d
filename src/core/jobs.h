// Jobs: work that goes on whoever waits for it. A caller that goes away stops waiting; the work is
// finished or undone, never left half. The one place of the core that spawns coroutines.
#pragma once
#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "async/event.h"
#include "async/task.h"

namespace cay::core {

// The result of a job, for any number of waiters.
template <class T>
struct Outcome {
  explicit Outcome(asio::any_io_executor loop) : done(std::move(loop)) {}
  Event done;
  Result<T> result;
};

class Jobs {
 public:
  Jobs(asio::any_io_executor loop, std::function<void(std::string)> warn);

  // Runs `work` to its end. An error or an exception nobody waits for is warned of.
  void spawn(Task<void> work);

  // Runs `work` as a job and waits for it. Cancelling the caller leaves the job alone.
  template <class T>
  Task<T> finish(Task<T> work) {
    auto outcome = std::make_shared<Outcome<T>>(loop_);
    spawn(into<T>(outcome, std::move(work)));
    co_await outcome->done.wait();
    co_return std::move(outcome->result);
  }
  // The same without waiting: for those who want to wait together.
  template <class T>
  std::shared_ptr<Outcome<T>> begin(Task<T> work) {
    auto outcome = std::make_shared<Outcome<T>>(loop_);
    spawn(into<T>(outcome, std::move(work)));
    return outcome;
  }

  // A caller begins what it waits for, and needs the CPUs: a command or an evaluation.
  void note_caller() { last_caller_ = std::chrono::steady_clock::now(); }
  // The time since then. Work that nobody waits for can stand back a moment.
  std::chrono::steady_clock::duration since_caller() const {
    return std::chrono::steady_clock::now() - last_caller_;
  }

  asio::any_io_executor loop() const { return loop_; }
  void warn(const std::string& sentence) const;
  // True: no job is left; false: the deadline passed first.
  asio::awaitable<bool> wait_idle(Event::Deadline deadline);

  // Set when the daemon ends: nothing new is begun.
  bool closing = false;
  // Set by the operator: nothing new is begun, what runs goes on (core/drain.h).
  bool draining = false;

 private:
  struct State {
    explicit State(asio::any_io_executor loop) : idle(std::move(loop)) {}
    int running = 0;
    Event idle;
    std::function<void(std::string)> warn;
  };

  template <class T>
  static Task<void> into(std::shared_ptr<Outcome<T>> outcome, Task<T> work) {
    // Waiters are woken however the work ends.
    struct Wake {
      Outcome<T>& of;
      explicit Wake(Outcome<T>& o) : of(o) {}
      Wake(const Wake&) = delete;
      Wake& operator=(const Wake&) = delete;
      ~Wake() { of.done.set(); }
    } wake(*outcome);
    outcome->result =
        Error{Code::kInternal, "job_failed", "the work ended by an unforeseen fault", 0};
    auto result = co_await std::move(work);
    outcome->result = std::move(result);
    co_return Result<void>();
  }

  asio::any_io_executor loop_;
  std::chrono::steady_clock::time_point last_caller_{};
  std::shared_ptr<State> state_;
};

}  // namespace cay::core
