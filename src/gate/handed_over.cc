#include "gate/handed_over.h"

#include <sys/socket.h>

namespace cay::gate {

void HandedOver::cut(const std::function<bool(const One& one)>& goes,
                     const std::function<void(const One& one)>& was_cut) {
  for (auto at = all_.begin(); at != all_.end();) {
    const One* const one = *at;
    if (!goes(*one)) {
      ++at;
      continue;
    }
    at = all_.erase(at);
    gate::cut(one->guest.get());
    ::shutdown(one->broker, SHUT_WR);  // the broker's last reports still count
    was_cut(*one);
  }
}

}  // namespace cay::gate
