#include "server/rate_limit.h"

#include <algorithm>

namespace cay::server {

bool RateLimit::take(const std::string& name) {
  if (per_second_ == 0) return true;
  const auto now = clock_->steady();
  const auto [place, fresh] = buckets_.try_emplace(name, Bucket{most_, now});
  Bucket& bucket = place->second;
  const std::chrono::duration<double> passed = now - bucket.at;
  bucket.at = now;
  bucket.left = std::min(most_, bucket.left + passed.count() * per_second_);
  if (bucket.left < 1) return false;
  bucket.left -= 1;
  return true;
}

}  // namespace cay::server
