// LinkEvents: the frames on channel 0 of a link. Frames that come before there is a handler wait.
#pragma once
#include <deque>
#include <functional>

#include "wire/frame.h"

namespace cay::runtime {

class LinkEvents {
 public:
  static constexpr std::size_t kMostWaiting = 8 << 20;  // bytes; a keeper's notes are less

  using Handler = std::function<void(const wire::Frame&)>;

  // Gives the waiting frames to the handler at once. An empty handler: frames wait again.
  void set(Handler handler);
  // Gives the frame to the handler, or keeps it. Past kMostWaiting it is dropped.
  void take(const wire::Frame& frame);

 private:
  Handler handler_;
  std::deque<wire::Frame> waiting_;
  std::size_t waiting_bytes_ = 0;
};

}  // namespace cay::runtime
