// TunnelVerbs: core::Tunnels over live sandboxes. Every connection keeps its sandbox awake.
#pragma once
#include "core/verbs/tunnels.h"
#include "core/wake.h"

namespace cay::core {

class TunnelVerbs : public Tunnels {
 public:
  explicit TunnelVerbs(Wake& wake) : wake_(wake) {}

  Task<std::unique_ptr<Tunnel>> open(Principal who, std::string ref, std::uint16_t port) override;
  Task<std::shared_ptr<void>> hold(Principal who, std::string ref) override;

 private:
  Wake& wake_;
};

}  // namespace cay::core
