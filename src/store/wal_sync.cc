#include "store/wal_sync.h"

#include <utility>

namespace cay::store {

WalSync::WalSync(std::function<void()> sync, Millis apart)
    : sync_(std::move(sync)), apart_(apart), thread_([this] { run(); }) {}

WalSync::~WalSync() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  woken_.notify_one();
  thread_.join();
}

void WalSync::note() {
  {
    const std::lock_guard lock(mutex_);
    if (noted_) return;
    noted_ = true;
  }
  woken_.notify_one();
}

void WalSync::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    woken_.wait(lock, [this] { return noted_ || ending_; });
    if (ending_) return;
    noted_ = false;
    lock.unlock();
    sync_();
    lock.lock();
    woken_.wait_for(lock, apart_, [this] { return ending_; });
  }
}

}  // namespace cay::store
