#include "server/open_requests.h"

namespace cay::server {

void OpenRequests::end_without_key(const KeyRing& keys) {
  for (Open& one : *all_) {
    if (!one.end || keys.opens(one.key)) continue;
    ending_.spawn(one.end());
    one.end = nullptr;
  }
}

}  // namespace cay::server
