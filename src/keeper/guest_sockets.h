// GuestSockets: unconnected TCP sockets of the sandbox's network namespace. A socket belongs for
// ever to the namespace that it was made in, so only the making needs a child that enters. The
// keeper itself connects, without waiting. The child joins the user and the network namespace
// alone. It has no pid inside, so the guest cannot see, stop or trace it, and it never holds a
// descriptor of these sockets.
#pragma once
#include <sys/types.h>

#include <deque>
#include <functional>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "keeper/keeper.h"
#include "keeper/loop.h"
#include "keeper/reaper.h"

namespace cay::keeper {

class GuestSockets {
 public:
  struct Pair {
    UniqueFd v4;
    UniqueFd v6;  // empty where there is no IPv6
  };
  using OnReady = std::function<void(Result<Pair>)>;

  GuestSockets(Loop& loop, Reaper& reaper, const Context& context)
      : loop_(loop), reaper_(reaper), context_(context) {}
  ~GuestSockets();

  // `ready` comes from the loop, once. Non-blocking sockets. Fails kUnavailable, tunnel_failed.
  void take(OnReady ready);

 private:
  // One child makes several pairs: entering costs more than a socket.
  static constexpr int kBatch = 4;

  void make();
  void on_message();
  void give_up(const Error& error);
  void serve();

  Loop& loop_;
  Reaper& reaper_;
  const Context& context_;
  std::vector<Pair> stock_;
  std::deque<OnReady> waiting_;
  pid_t maker_ = 0;
  UniqueFd from_maker_;
  Watch watch_;
  Timer deadline_;
};

}  // namespace cay::keeper
