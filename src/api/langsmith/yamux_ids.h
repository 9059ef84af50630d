// YamuxIds: the stream numbers that the client of a yamux session has used and may still use.
//
// A client's numbers are odd, and none is used twice. Clients number a stream and send its first
// frame in two steps. So if two are opened at once, the later one may come first.
#pragma once
#include <cstddef>
#include <cstdint>
#include <set>

namespace cay::api::langsmith {

class YamuxIds {
 public:
  // At most so many numbers that were skipped may still be used: the highest ones.
  static constexpr std::size_t kMostSkipped = 256;

  // Marks a number as used. Returns false if the client may not open a stream by it.
  bool use(std::uint32_t id);

 private:
  std::uint32_t highest_ = 0;        // of all that were used
  std::set<std::uint32_t> skipped_;  // below it
};

}  // namespace cay::api::langsmith
