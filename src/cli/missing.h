// Missing: reports bytes of a command's output that were not kept. A command that writes faster
// than a small limit loses some of every piece. The first loss is reported in its place, the next
// ones as sums, ever more seldom, and the total at the end.
#pragma once
#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <string_view>

#include "cay/types.h"

namespace cay::cli {

class Missing {
 public:
  using Clock = std::chrono::steady_clock;

  // The function gets one sentence at a time.
  explicit Missing(std::function<void(std::string_view)> say) : say_(std::move(say)) {}
  ~Missing() { finish(); }
  Missing(const Missing&) = delete;

  void add(const sdk::Gap& gap, Clock::time_point now = Clock::now());
  // Called with every piece that comes: reports what is due.
  void look(Clock::time_point now = Clock::now());
  // Called at the end of the output: reports the rest, and the total.
  void finish();

 private:
  struct Sum {
    std::uint64_t bytes = 0, places = 0;          // in all
    std::uint64_t untold = 0, untold_places = 0;  // of these
    Clock::time_point due{};
    Clock::duration pause{};
  };
  Sum& sum_of(sdk::Stream stream) { return sums_[stream == sdk::Stream::kStdout ? 0 : 1]; }
  void tell(sdk::Stream stream, Sum& sum);

  std::function<void(std::string_view)> say_;
  std::array<Sum, 2> sums_;  // stdout, stderr
};

}  // namespace cay::cli
