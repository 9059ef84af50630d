// Event: each waiter has a timer of its own, which set() and notify() cancel.
#include "async/event.h"

#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/system/system_error.hpp>
#include <functional>
#include <list>
#include <utility>
#include <vector>

namespace cay {

struct Event::Impl {
  asio::any_io_executor executor;
  bool set = false;
  bool gone = false;
  std::uint64_t generation = 0;  // of wake-ups, so that a reset before a waiter runs loses none
  std::vector<asio::steady_timer*> waiting;
  using Then = std::shared_ptr<const std::function<void()>>;
  std::list<Then> watching;

  void call(const Then& then) const {
    asio::post(executor, [weak = std::weak_ptr(then)] {
      if (const auto still = weak.lock()) (*still)();
    });
  }
  void call_all() const {
    for (const Then& then : watching) call(then);
  }

  void wake() {
    ++generation;
    for (auto* timer : waiting) timer->cancel();
  }
};

namespace {

// Puts a timer on the list for as long as its frame lives.
template <class Impl>
class Waiter {
 public:
  Waiter(std::shared_ptr<Impl> impl, Event::Deadline deadline)
      : impl_(std::move(impl)), timer_(impl_->executor, deadline) {
    impl_->waiting.push_back(&timer_);
  }
  ~Waiter() {
    auto& list = impl_->waiting;
    list.erase(std::remove(list.begin(), list.end(), &timer_), list.end());
  }
  Waiter(const Waiter&) = delete;
  Waiter& operator=(const Waiter&) = delete;
  asio::steady_timer& timer() { return timer_; }

 private:
  std::shared_ptr<Impl> impl_;
  asio::steady_timer timer_;
};

void throw_aborted() {
  throw boost::system::system_error(asio::error::make_error_code(asio::error::operation_aborted));
}

template <class Impl>
asio::awaitable<bool> wait_on(std::shared_ptr<Impl> impl, Event::Deadline deadline) {
  const auto seen = impl->generation;
  Waiter<Impl> waiter(impl, deadline);
  while (!impl->set && !impl->gone && impl->generation == seen) {
    auto [error] = co_await waiter.timer().async_wait(asio::as_tuple(asio::use_awaitable));
    auto state = co_await asio::this_coro::cancellation_state;
    if (state.cancelled() != asio::cancellation_type::none) throw_aborted();
    if (!error) co_return impl->set || impl->gone || impl->generation != seen;
  }
  co_return true;
}

template <class Impl>
asio::awaitable<void> wait_stubbornly(std::shared_ptr<Impl> impl) {
  auto throws = co_await asio::this_coro::throw_if_cancelled();
  co_await asio::this_coro::throw_if_cancelled(false);
  const auto seen = impl->generation;
  {
    Waiter<Impl> waiter(impl, Event::kNever);
    auto token = asio::bind_cancellation_slot(asio::cancellation_slot(),
                                              asio::as_tuple(asio::use_awaitable));
    while (!impl->set && !impl->gone && impl->generation == seen) {
      auto [error] = co_await waiter.timer().async_wait(token);
      static_cast<void>(error);
    }
  }
  co_await asio::this_coro::throw_if_cancelled(throws);
}

}  // namespace

Event::Event(asio::any_io_executor executor) : impl_(std::make_shared<Impl>()) {
  impl_->executor = std::move(executor);
}

Event::~Event() {
  impl_->gone = true;
  if (!impl_->set) impl_->call_all();
  impl_->wake();
}

void Event::set() {
  if (!std::exchange(impl_->set, true)) impl_->call_all();
  impl_->wake();
}

void Event::reset() { impl_->set = false; }
void Event::notify() { impl_->wake(); }

Event::Watch Event::when_set(std::function<void()> then) {
  const auto at = impl_->watching.insert(
      impl_->watching.end(), std::make_shared<const std::function<void()>>(std::move(then)));
  if (impl_->set) impl_->call(*at);
  return {nullptr, [impl = impl_, at](void*) { impl->watching.erase(at); }};
}

bool Event::is_set() const { return impl_->set; }
asio::any_io_executor Event::executor() const { return impl_->executor; }

asio::awaitable<void> Event::wait() {
  auto impl = impl_;
  auto woken = co_await wait_on(impl, kNever);
  static_cast<void>(woken);
}

asio::awaitable<bool> Event::wait_for(Millis limit) { return wait_on(impl_, deadline_in(limit)); }
asio::awaitable<bool> Event::wait_until(Deadline deadline) { return wait_on(impl_, deadline); }
asio::awaitable<void> Event::wait_through_cancel() { return wait_stubbornly(impl_); }

asio::awaitable<void> throw_if_cancelled() {
  auto state = co_await asio::this_coro::cancellation_state;
  if (state.cancelled() != asio::cancellation_type::none) throw_aborted();
}

bool is_cancellation(const std::exception_ptr& error) {
  if (!error) return false;
  try {
    std::rethrow_exception(error);
  } catch (const boost::system::system_error& e) {
    return e.code() == asio::error::operation_aborted;
  } catch (...) {
    return false;
  }
}

}  // namespace cay
