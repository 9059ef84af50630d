// LongWork: work that takes minutes, that any number may wait for, and that can be given up.
#pragma once
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/system/system_error.hpp>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "async/event.h"
#include "async/task.h"
#include "base/error.h"

namespace cay::core {

struct LongWork {
  explicit LongWork(asio::any_io_executor loop) : done(std::move(loop)) {}
  LongWork(const LongWork&) = delete;
  LongWork& operator=(const LongWork&) = delete;
  ~LongWork() = default;

  // The first reason counts. `done` is set once what was made so far is unmade.
  void give_up(Error why) {
    if (done.is_set() || cancelled) return;
    cancelled = std::move(why);
    cancel.emit(asio::cancellation_type::terminal);
  }

  Event done;
  std::optional<Error> cancelled;
  std::string progress{};  // one line for people
  asio::cancellation_signal cancel;
};

// Runs `task`, which give_up() ends. Cancellation and foreign exceptions become errors.
template <class T>
Task<T> run_until_given_up(asio::any_io_executor loop, std::shared_ptr<LongWork> work,
                           Task<T> task) {
  if (work->cancelled) co_return *work->cancelled;
  Result<T> result = Error{Code::kInternal, "job_failed", "the work ended unforeseen", 0};
  try {
    auto token = asio::bind_cancellation_slot(work->cancel.slot(), asio::use_awaitable);
    auto got = co_await asio::co_spawn(loop, std::move(task), std::move(token));
    result = std::move(got);
  } catch (const boost::system::system_error& fault) {
    result =
        Error{Code::kCancelled, "given_up", std::string("it was given up: ") + fault.what(), 0};
  } catch (const std::exception& fault) {
    result = Error{Code::kInternal, "job_failed",
                   std::string("it failed unforeseen: ") + fault.what(), 0};
  }
  if (work->cancelled) co_return *work->cancelled;
  co_return result;
}

}  // namespace cay::core
