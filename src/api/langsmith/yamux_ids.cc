#include "api/langsmith/yamux_ids.h"

namespace cay::api::langsmith {

bool YamuxIds::use(std::uint32_t id) {
  if (id % 2 == 0) return false;
  if (id <= highest_) return skipped_.erase(id) > 0;
  std::size_t more = kMostSkipped;
  for (std::uint32_t before = id; before - highest_ > 2 && more > 0; before -= 2, --more)
    skipped_.insert(before - 2);
  while (skipped_.size() > kMostSkipped) skipped_.erase(skipped_.begin());
  highest_ = id;
  return true;
}

}  // namespace cay::api::langsmith
