// Poller: epoll with callbacks, for one thread. Callbacks may watch and forget anything, themselves
// too.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <unordered_map>

#include "base/unique_fd.h"

namespace cay::launcher {

class Poller {
 public:
  using Callback = std::function<void(std::uint32_t events)>;

  Poller();
  void watch(int fd, std::uint32_t events, Callback callback);
  void change(int fd, std::uint32_t events);
  void forget(int fd);  // before the descriptor is closed; unknown ones are ignored

  // Waits at most `timeout_ms` (-1: for ever) and calls back.
  void run_once(int timeout_ms);

 private:
  struct Watch {
    std::uint64_t
        tag;  // distinguishes a reused descriptor number from the one that an event was for
    std::shared_ptr<Callback> callback;
  };
  UniqueFd epoll_;
  std::uint32_t generation_ = 0;
  std::unordered_map<int, Watch> watches_;
};

}  // namespace cay::launcher
