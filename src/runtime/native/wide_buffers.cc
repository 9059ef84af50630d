#include "runtime/native/wide_buffers.h"

#include <sys/socket.h>

#include <algorithm>

namespace cay::runtime {
namespace {

#ifndef SO_BUF_LOCK
constexpr int SO_BUF_LOCK =
    72;  // asm-generic/socket.h; since Linux 5.14. Without it the buffers stay as they are
#endif

void let_grow(int socket) {
  const int none = 0;
  ::setsockopt(socket, SOL_SOCKET, SO_BUF_LOCK, &none, sizeof none);
}

void fix(int socket) {
  ::setsockopt(socket, SOL_SOCKET, SO_SNDBUF, &WideBuffers::kFixed, sizeof WideBuffers::kFixed);
  ::setsockopt(socket, SOL_SOCKET, SO_RCVBUF, &WideBuffers::kFixed, sizeof WideBuffers::kFixed);
}

}  // namespace

void WideBuffers::Place::leave() { std::erase(group_.wide_, this); }

void WideBuffers::Place::moved(std::size_t bytes) {
  bytes_ += bytes;
  if (!wide_ && bytes_ < kWorth) return;
  last_ = std::chrono::steady_clock::now();
  if (!wide_) group_.widen(*this);
}

void WideBuffers::widen(Place& place) {
  if (wide_.size() >= kMost) {
    const auto oldest =
        std::min_element(wide_.begin(), wide_.end(),
                         [](const Place* a, const Place* b) { return a->last_ < b->last_; });
    if (place.last_ - (*oldest)->last_ < kIdle) {
      place.bytes_ = 0;  // considered again after as many
      return;
    }
    fix((*oldest)->socket_);
    (*oldest)->wide_ = false;
    (*oldest)->bytes_ = 0;
    wide_.erase(oldest);
  }
  let_grow(place.socket_);
  place.wide_ = true;
  wide_.push_back(&place);
}

}  // namespace cay::runtime
