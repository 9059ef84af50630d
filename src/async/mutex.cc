// Mutex: the unlocker hands the lock to the first waiter, so that nobody slips in between.
#include "async/mutex.h"

#include <algorithm>
#include <deque>

namespace cay {

struct Mutex::State {
  asio::any_io_executor executor;
  bool locked = false;
  std::deque<std::shared_ptr<Event>> waiting;

  void unlock() {
    if (waiting.empty()) {
      locked = false;
      return;
    }
    auto next = std::move(waiting.front());
    waiting.pop_front();
    next->set();  // it stays locked: the turn is handed over
  }
};

// A place in the queue. Given up unused (the waiter was cancelled), it passes the turn on.
struct Mutex::Turn {
  explicit Turn(std::shared_ptr<State> of)
      : state(std::move(of)), come(std::make_shared<Event>(state->executor)) {
    state->waiting.push_back(come);
  }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;
  ~Turn() {
    if (taken) return;
    if (come->is_set()) {
      state->unlock();  // it had been handed over just before the cancellation
    } else {
      std::erase(state->waiting, come);
    }
  }

  std::shared_ptr<State> state;
  std::shared_ptr<Event> come;
  bool taken = false;
};

Mutex::Mutex(asio::any_io_executor executor) : state_(std::make_shared<State>()) {
  state_->executor = std::move(executor);
}

bool Mutex::locked() const { return state_->locked; }

asio::awaitable<Mutex::Guard> Mutex::lock() {
  auto state = state_;
  if (!state->locked) {
    state->locked = true;
    co_return Guard(std::move(state));
  }
  Turn turn(state);
  co_await turn.come->wait();
  turn.taken = true;
  co_return Guard(std::move(state));
}

Mutex::Guard& Mutex::Guard::operator=(Guard&& other) noexcept {
  if (this != &other) {
    unlock();
    state_ = std::move(other.state_);
  }
  return *this;
}

void Mutex::Guard::unlock() {
  if (auto state = std::exchange(state_, nullptr)) state->unlock();
}

}  // namespace cay
