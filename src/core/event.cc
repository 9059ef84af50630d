#include "core/event.h"

#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/system/system_error.hpp>

namespace cay::core {

struct Event::Waiter {
  Waiter(Event& event, Deadline deadline) : owner(event), timer(event.loop_, deadline) {
    owner.waiters_.push_back(this);
  }
  Waiter(const Waiter&) = delete;
  Waiter& operator=(const Waiter&) = delete;
  ~Waiter() { std::erase(owner.waiters_, this); }

  Event& owner;
  asio::steady_timer timer;
  bool woken = false;
};

Event::Event(asio::any_io_executor loop) : loop_(std::move(loop)) {}

void Event::set() {
  set_ = true;
  wake_all();
}

void Event::reset() { set_ = false; }

void Event::pulse() { wake_all(); }

void Event::wake_all() {
  for (Waiter* waiter : waiters_) {
    waiter->woken = true;
    waiter->timer.cancel();
  }
}

asio::awaitable<bool> Event::wait(Deadline deadline) {
  if (set_) co_return true;
  Waiter waiter(*this, deadline);
  auto [error] = co_await waiter.timer.async_wait(asio::as_tuple(asio::use_awaitable));
  if (waiter.woken) co_return true;
  if (error) throw boost::system::system_error(error);
  co_return false;
}

struct Mutex::State {
  bool locked = false;
  std::deque<std::shared_ptr<Event>> queue;  // those who wait for their turn
};

// A place in the queue. Given up unused (the waiter was cancelled), it passes the turn on.
struct Mutex::Turn {
  Turn(std::shared_ptr<State> of, asio::any_io_executor loop)
      : state(std::move(of)), come(std::make_shared<Event>(std::move(loop))) {
    state->queue.push_back(come);
  }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;
  ~Turn() {
    if (taken) return;
    if (come->is_set()) {
      unlock(*state);
    } else {
      std::erase(state->queue, come);
    }
  }

  std::shared_ptr<State> state;
  std::shared_ptr<Event> come;
  bool taken = false;
};

Mutex::Mutex(asio::any_io_executor loop) : state_(std::make_shared<State>()), loop_(std::move(loop)) {}

bool Mutex::locked() const { return state_->locked; }

void Mutex::unlock(State& state) {
  if (state.queue.empty()) {
    state.locked = false;
    return;
  }
  auto next = state.queue.front();
  state.queue.pop_front();
  next->set();  // stays locked: the turn is handed over
}

asio::awaitable<Mutex::Lock> Mutex::lock() {
  auto state = state_;
  if (!state->locked) {
    state->locked = true;
    co_return Lock(std::move(state));
  }
  Turn turn(state, loop_);
  co_await turn.come->wait();
  turn.taken = true;
  co_return Lock(std::move(state));
}

Mutex::Lock& Mutex::Lock::operator=(Lock&& other) noexcept {
  if (this != &other) {
    if (state_) unlock(*state_);
    state_ = std::move(other.state_);
  }
  return *this;
}

Mutex::Lock::~Lock() {
  if (state_) unlock(*state_);
}

}  // namespace cay::core
