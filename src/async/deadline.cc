// with_deadline: the work runs as a coroutine of its own, so that it can be cancelled alone.
#include "async/deadline.h"

#include <boost/asio/this_coro.hpp>

#include "async/event.h"
#include "async/scope.h"

namespace cay {

namespace detail {

namespace {
asio::awaitable<void> run_and_tell(asio::awaitable<void> body, std::shared_ptr<Event> done) {
  std::exception_ptr failure;
  try {
    co_await std::move(body);
  } catch (...) {
    failure = std::current_exception();
  }
  done->set();
  if (failure) std::rethrow_exception(failure);
}
}  // namespace

asio::awaitable<bool> run_until(asio::awaitable<void> body, Millis limit, Event* cut) {
  auto executor = co_await asio::this_coro::executor;
  auto done = std::make_shared<Event>(executor);
  Event::Watch watch;
  if (cut != nullptr) watch = cut->when_set([done] { done->set(); });
  Scope scope(executor);
  scope.spawn(run_and_tell(std::move(body), done));
  auto in_time = co_await scope.until(done->wait_for(limit));
  co_return in_time;
}

}  // namespace detail

asio::awaitable<void> sleep_for(Millis time) {
  auto executor = co_await asio::this_coro::executor;
  Event never(executor);
  auto woken = co_await never.wait_for(time);
  static_cast<void>(woken);
}

}  // namespace cay
