// GuestNetworkPlans: the network set-up of sandboxes, planned once for each list of networks that
// the operator opens. There is one such list, and another after a change of it.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "launcher/guest_network.h"
#include "wire/messages.h"

namespace cay::launcher {

inline bool has_way_out(const wire::CreateSandbox& request) {
  return !request.builds_layer && !request.policy.empty() && request.policy != "off";
}

class GuestNetworkPlans {
 public:
  // Returns nullptr where the sandbox has no way out. The plan is valid until the next call.
  Result<const GuestNetwork*> plan_for(const wire::CreateSandbox& request) {
    if (!has_way_out(request)) return static_cast<const GuestNetwork*>(nullptr);
    return plan_for(request.networks);
  }
  Result<const GuestNetwork*> plan_for(const std::vector<std::string>& networks) {
    const auto known = plans_.find(networks);
    if (known != plans_.end()) return &known->second;
    CAY_TRY(GuestNetwork made, plan_guest_network(networks));
    if (plans_.size() >= kMost) plans_.clear();
    return &plans_.emplace(networks, std::move(made)).first->second;
  }

 private:
  static constexpr std::size_t kMost = 16;
  std::map<std::vector<std::string>, GuestNetwork> plans_;
};

}  // namespace cay::launcher
