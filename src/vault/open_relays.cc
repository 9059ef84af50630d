#include "vault/open_relays.h"

#include <vector>

namespace cay::vault {

void OpenRelays::judge(const std::string& sandbox_id, const Granted* now) {
  std::vector<const One*> its;
  for (const One* one : all_) {
    if (one->sandbox_id == sandbox_id) its.push_back(one);
  }
  for (const One* one : its) {
    // One that is cut may take others with it.
    if (all_.contains(one) && !one->may_stay(now)) one->cut();
  }
}

}  // namespace cay::vault
