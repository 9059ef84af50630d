// HandedOver: the connections of one sandbox that the broker has, as far as the gate can still end them. The broker answers to the daemon for
// rules and secrets; for the policy the gate does, and needs nobody else for it: it has kept the socket that it handed over.
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
    UniqueFd guest;    // the same socket that the broker has
    int broker = -1;   // the connection on which the broker tells of it; somebody else's to close
    bool by_policy = false;  // a fence alone: it is open for as long as the policy has its host
  };

  // It is there for as long as this lives.
  Entered<const One*> enter(const One& one) { return {all_, &one}; }

  // Those of which `goes` is true. When it returns nothing more comes from their guests, nor goes to them; the broker is told, and lets go of the servers.
  // `was_cut` hears of each once.
  void cut(const std::function<bool(const One& one)>& goes, const std::function<void(const One& one)>& was_cut);

 private:
  std::set<const One*> all_;
};

}  // namespace cay::gate
