// WaitingHelpers: file helpers that have done an operation, and that wait a moment for the next one
// of the same user. To enter the sandbox takes longer than most operations.
//
// The keeper believes nothing of a helper that waits: the guest may kill, stop or slow it down. One
// that is gone or has sent something is never taken.
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <list>
#include <optional>
#include <string>

#include "base/unique_fd.h"
#include "keeper/loop.h"

namespace cay::keeper {

class WaitingHelpers {
 public:
  static constexpr std::size_t kMost = 2;            // the oldest leaves for another one
  static constexpr std::int64_t kPatienceMs = 3000;  // then it leaves

  struct Helper {
    std::string user;  // as it was requested
    UniqueFd socket;
    pid_t pid = 0;
  };

  // `dismissed` gets the pid of one whose socket was closed: it ends soon, or is ended.
  WaitingHelpers(Loop& loop, std::function<void(pid_t)> dismissed)
      : loop_(loop), dismissed_(std::move(dismissed)) {}

  void add(Helper helper);
  // Returns one of that user. It may still end before it reads a request.
  std::optional<Helper> take(const std::string& user);
  // That process was reaped.
  void forget(pid_t pid);
  void dismiss_all();

 private:
  struct Place {
    Helper helper;
    Watch watch;
    Timer timer;
  };
  using At = std::list<Place>::iterator;
  void dismiss(At at);

  Loop& loop_;
  std::function<void(pid_t)> dismissed_;
  std::list<Place> places_;  // the oldest first
};

}  // namespace cay::keeper
