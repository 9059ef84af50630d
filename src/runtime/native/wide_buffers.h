// WideBuffers: chooses the connections of a sandbox whose kernel buffers grow with their traffic. A
// fixed buffer of the keeper's size makes both sides wait for each other more than they move bytes.
// But a guest decides how far a buffer grows, too, so only the few connections that move the most
// have one.
#pragma once
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/clock.h"

namespace cay::runtime {

class WideBuffers {
 public:
  static constexpr std::size_t kMost = 8;  // at once; each up to the host's tcp_rmem and tcp_wmem
  static constexpr std::uint64_t kWorth = 1024 * 1024;  // bytes, before a connection gets one
  static constexpr Millis kIdle{
      1000};  // a connection that has moved nothing for so long gives its own up
  static constexpr int kFixed =
      256 * 1024;  // what the others have, each way; as the keeper sets it

  // The place of one connection, which its destructor frees. Belongs to one loop.
  class Place {
   public:
    Place(WideBuffers& group, int socket) : group_(group), socket_(socket) {}
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;
    ~Place() { leave(); }
    void moved(std::size_t bytes);
    // Before the socket is closed: its number may then be another's. Nothing moves afterwards.
    void leave();
    bool wide() const { return wide_; }

   private:
    friend class WideBuffers;
    WideBuffers& group_;
    int socket_;
    std::uint64_t bytes_ = 0;  // since it was made, or lost its buffers
    bool wide_ = false;
    std::chrono::steady_clock::time_point last_{};
  };

 private:
  void widen(Place& place);
  std::vector<Place*> wide_;
};

}  // namespace cay::runtime
