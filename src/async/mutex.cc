// Mutex: the unlocker hands the lock to the first waiter, so that nobody slips in between.
#include "async/mutex.h"

#include <algorithm>

namespace cay {

asio::awaitable<Mutex::Guard> Mutex::lock() {
  if (!locked_) {
    locked_ = true;
    co_return Guard(*this);
  }
  auto turn = std::make_shared<Event>(executor_);
  waiting_.push_back(turn);
  try {
    co_await turn->wait();
  } catch (...) {
    if (turn->is_set()) {
      unlock();  // the lock had been handed over just before the cancellation
    } else {
      waiting_.erase(std::remove(waiting_.begin(), waiting_.end(), turn), waiting_.end());
    }
    throw;
  }
  co_return Guard(*this);
}

void Mutex::unlock() {
  if (waiting_.empty()) {
    locked_ = false;
    return;
  }
  auto next = std::move(waiting_.front());
  waiting_.pop_front();
  next->set();
}

}  // namespace cay
