// ByteQuota limits how many bytes a sandbox may move in one direction. The gate takes them out of
// the quota before it moves them. It sets parts aside on disk, so a gate that replaces a killed one
// grants nothing twice.
#pragma once
#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <utility>

namespace cay::gate {

class ByteQuota {
 public:
  // Puts on record that so many bytes of all may be gone from now on.
  using SetAside = std::function<void(std::uint64_t up_to)>;

  ByteQuota() = default;  // without end
  // `most` in all (0: without end), of which `moved` are gone.
  ByteQuota(std::uint64_t most, std::uint64_t moved, SetAside set_aside = {})
      : most_(most),
        left_(most == 0 ? kWithoutEnd : most - std::min(most, moved)),
        at_hand_(most == 0 ? kWithoutEnd : 0),
        set_aside_(std::move(set_aside)) {}

  bool is_used_up() const { return left_ == 0; }
  // How many of `want` bytes may go on, as a part of them.
  std::uint64_t of(std::uint64_t want) {
    if (at_hand_ == 0) take_in_hand(1);
    return std::min(want, at_hand_);
  }
  // Whether all of them may.
  bool has(std::uint64_t bytes) {
    if (left_ < bytes) return false;
    if (at_hand_ < bytes) take_in_hand(bytes);
    return true;
  }
  // More than is left uses it up.
  void take(std::uint64_t bytes) {
    if (left_ == kWithoutEnd) return;
    left_ -= std::min(left_, bytes);
    at_hand_ -= std::min(at_hand_, bytes);
  }

 private:
  static constexpr std::uint64_t kWithoutEnd = std::numeric_limits<std::uint64_t>::max();
  // The most that a killed gate costs its sandbox. The gate writes a file for each part.
  static constexpr std::uint64_t kLeastPart = 64 << 10, kMostPart = 64 << 20, kParts = 64;

  void take_in_hand(std::uint64_t least) {
    at_hand_ = std::min(left_, std::max(least, std::clamp(most_ / kParts, kLeastPart, kMostPart)));
    if (at_hand_ > 0 && set_aside_) set_aside_(most_ - left_ + at_hand_);
  }

  std::uint64_t most_ = 0, left_ = kWithoutEnd, at_hand_ = kWithoutEnd;
  SetAside set_aside_;
};

// One sandbox's quotas, both ways.
struct ByteQuotas {
  ByteQuota sent, received;
  std::function<void()> when_used_up{};

  bool is_used_up() const { return sent.is_used_up() || received.is_used_up(); }
};

}  // namespace cay::gate
