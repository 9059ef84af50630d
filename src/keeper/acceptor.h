// Acceptor: takes what connects to a listening socket. Out of descriptors it looks again a little
// later.
#pragma once
#include <functional>

#include "base/unique_fd.h"
#include "keeper/loop.h"

namespace cay::keeper {

class Acceptor {
 public:
  // `listen_fd` is non-blocking and the caller's. `take` gets close-on-exec, non-blocking sockets.
  Acceptor(Loop& loop, int listen_fd, std::function<void(UniqueFd)> take);
  Acceptor(const Acceptor&) = delete;
  Acceptor& operator=(const Acceptor&) = delete;

 private:
  void accept_all();

  Loop& loop_;
  int listen_fd_;
  std::function<void(UniqueFd)> take_;
  Watch listen_;
  Timer again_;
};

}  // namespace cay::keeper
