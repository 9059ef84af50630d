// SpoolBudget limits the disk space that the output of all commands of a sandbox may take together.
// Once it is used up, streams stop growing. A stream then reuses its space as a ring, and its gap
// is marked. Each stream may always have a little, so that a small output is kept whole all the
// same.
#pragma once
#include <algorithm>
#include <cstdint>

namespace cay::keeper {

class SpoolBudget {
 public:
  static constexpr std::uint64_t kAlways = 64 * 1024;

  explicit SpoolBudget(std::uint64_t limit) : limit_(limit) {}

  // By how much a stream that has `held` bytes on the disk may grow now.
  std::uint64_t room(std::uint64_t held) const {
    const std::uint64_t left = used_ < limit_ ? limit_ - used_ : 0;
    return std::max(left, held < kAlways ? kAlways - held : 0);
  }
  void take(std::uint64_t bytes) { used_ += bytes; }
  void give_back(std::uint64_t bytes) { used_ -= std::min(used_, bytes); }
  std::uint64_t used() const { return used_; }

 private:
  std::uint64_t limit_;
  std::uint64_t used_ = 0;
};

}  // namespace cay::keeper
