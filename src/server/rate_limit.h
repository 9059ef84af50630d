// RateLimit: so many of something a second for each name, and a few seconds' worth at once.
#pragma once
#include <cstdint>
#include <map>
#include <string>

#include "base/clock.h"
#include "base/token_bucket.h"

namespace cay::server {

class RateLimit {
 public:
  // `per_second` 0: no limit. `at_once`: how many seconds' worth whoever was silent may take together.
  RateLimit(std::uint32_t per_second, std::uint32_t at_once, Clock& clock) : per_second_(per_second), most_(static_cast<double>(per_second) * at_once), clock_(&clock) {}

  // Takes one of `name`'s; false: there is none now.
  bool take(const std::string& name) {
    if (per_second_ == 0) return true;
    return buckets_.try_emplace(name, most_, per_second_).first->second.take(clock_->steady());
  }

 private:
  std::uint32_t per_second_;
  double most_;
  Clock* clock_;
  std::map<std::string, TokenBucket> buckets_;  // names of keys: few
};

}  // namespace cay::server
