// WalSync: brings committed transactions to the disk on a thread of its own. A commit does not wait
// for the disk (docs/decisions/0016-power-cuts.md); this bounds how long one may be in memory
// alone.
#pragma once
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

#include "base/clock.h"

namespace cay::store {

class WalSync {
 public:
  // `sync` runs on the thread, at once after a note(), and no sooner than `apart` after the last
  // time.
  WalSync(std::function<void()> sync, Millis apart);
  WalSync(const WalSync&) = delete;
  WalSync& operator=(const WalSync&) = delete;
  ~WalSync();

  // A transaction is in the log: a sync that begins later brings it to the disk. Never waits for
  // one.
  void note();

 private:
  void run();

  std::function<void()> sync_;
  Millis apart_;
  std::mutex mutex_;
  std::condition_variable woken_;
  bool noted_ = false;
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace cay::store
