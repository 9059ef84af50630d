// LoopbackDial: connects one socket to a port of the sandbox's own loopback. The address is always
// 127.0.0.1, then ::1 where that refuses, in the sandbox's network namespace.
#pragma once
#include <cstdint>
#include <functional>

#include "base/unique_fd.h"
#include "keeper/guest_sockets.h"
#include "keeper/loop.h"

namespace cay::keeper {

class LoopbackDial {
 public:
  // 0: connected. Else the errno of the last refusal.
  using Done = std::function<void(int err)>;

  explicit LoopbackDial(Loop& loop) : loop_(loop) {}

  // `done` comes once, from here or from the loop, unless stop() comes first.
  void begin(GuestSockets::Pair sockets, std::uint16_t port, Done done);
  // Returns the socket, connected or not, and forgets `done`. Empty before begin().
  UniqueFd stop();

 private:
  void try_to_connect();
  void on_connected();
  void refused(int err);
  void connected();
  void finish(int err);

  Loop& loop_;
  std::uint16_t port_ = 0;
  UniqueFd socket_;
  UniqueFd second_;  // for ::1
  bool second_try_ = false;
  Watch watch_;
  Done done_;
};

}  // namespace cay::keeper
