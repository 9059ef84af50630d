// HandedOver: the connections of one sandbox that the broker has. The gate can still end them when
// the policy changes, because it keeps the client's socket. For rules and secrets the broker
// answers to the daemon.
#pragma once
#include <functional>
#include <set>
#include <string>

#include "base/entered.h"
#include "base/unique_fd.h"
#include "gate/sockets.h"

namespace cay::gate {

class HandedOver {
 public:
  struct One {
    std::string host;  // empty: way base_url
    Endpoint meant;
    UniqueFd guest;          // the same socket that the broker has
    int broker = -1;         // the connection on which the broker reports; owned by its reader
    bool by_policy = false;  // a fence alone: it is open for as long as the policy has its host
  };

  // It is there for as long as this lives.
  Entered<const One*> enter(const One& one) { return {all_, &one}; }

  // Cuts those for which `goes` returns true. When it returns, nothing more moves from or to their
  // clients. The broker is notified and closes the servers' side. `was_cut` is called once for
  // each.
  void cut(const std::function<bool(const One& one)>& goes,
           const std::function<void(const One& one)>& was_cut);

 private:
  std::set<const One*> all_;
};

}  // namespace cay::gate
