// TokenBucket: so many at once, and then so many each second.
#pragma once
#include <algorithm>
#include <chrono>
#include <optional>

namespace cay {

class TokenBucket {
 public:
  using Time = std::chrono::steady_clock::time_point;
  TokenBucket(double at_once, double per_second)
      : most_(at_once), per_second_(per_second), left_(at_once) {}

  // Whether one more may be now; if so it is counted.
  bool take(Time now) {
    left_ = left_at(now);
    last_ = now;
    if (left_ < 1) return false;
    left_ -= 1;
    return true;
  }
  // As good as a new one.
  bool is_full(Time now) const { return left_at(now) >= most_; }

 private:
  double left_at(Time now) const {
    return last_ ? std::min(most_, left_ + std::chrono::duration<double>(now - *last_).count() *
                                               per_second_)
                 : left_;
  }
  double most_, per_second_, left_;
  std::optional<Time> last_;
};

}  // namespace cay
