// Allowance: how many bytes a sandbox may still move one way. Taken before they go on, so that never more does.
#pragma once
#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>

namespace cay::gate {

class Allowance {
 public:
  Allowance() = default;  // without end
  // `most` in all (0: without end), of which `moved` are gone.
  Allowance(std::uint64_t most, std::uint64_t moved) : left_(most == 0 ? kWithoutEnd : most - std::min(most, moved)) {}

  bool is_used_up() const { return left_ == 0; }
  // How many of `want` bytes may go on.
  std::uint64_t of(std::uint64_t want) const { return std::min(want, left_); }
  // More than is left uses it up.
  void take(std::uint64_t bytes) {
    if (left_ != kWithoutEnd) left_ -= std::min(left_, bytes);
  }

 private:
  static constexpr std::uint64_t kWithoutEnd = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t left_ = kWithoutEnd;
};

// Of one sandbox, both ways.
struct Allowances {
  Allowance sent, received;
  std::function<void()> when_used_up{};

  bool is_used_up() const { return sent.is_used_up() || received.is_used_up(); }
};

}  // namespace cay::gate
