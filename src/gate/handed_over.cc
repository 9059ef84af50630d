#include "gate/handed_over.h"

#include <sys/socket.h>

#include <utility>

namespace cay::gate {

void HandedOver::cut_all(const std::function<void(const One& one)>& was_cut) {
  for (const One* one : std::exchange(all_, {})) {
    cut(one->guest.get());
    ::shutdown(one->broker, SHUT_WR);  // what it still tells of the bytes until then is heard
    was_cut(*one);
  }
}

}  // namespace cay::gate
