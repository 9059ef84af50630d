// Missing: what is said of bytes of a command's output that were not kept. A command that writes faster than little is kept loses some
// of every piece: the first loss is told where it is, what follows as sums, ever more seldom, and all of it at the end.
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

  // `say` gets one sentence at a time.
  explicit Missing(std::function<void(std::string_view)> say) : say_(std::move(say)) {}
  ~Missing() { finish(); }
  Missing(const Missing&) = delete;

  void add(const sdk::Gap& gap, Clock::time_point now = Clock::now());
  // With every piece that comes: tells what is due.
  void look(Clock::time_point now = Clock::now());
  // No more of it will come: tells what was not told, and how much it was in all.
  void finish();

 private:
  struct Sum {
    std::uint64_t bytes = 0, places = 0;        // in all
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
