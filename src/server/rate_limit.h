// RateLimit: so many of something a second for each name, and a few seconds' worth at once.
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

#include "base/clock.h"
#include "base/token_bucket.h"

namespace cay::server {

class RateLimit {
 public:
  // `per_second` 0 means no limit. `at_once` is how many seconds' worth a silent caller may use
  // together. `names` is how many callers have a bucket of their own at once. Callers beyond that
  // share one, until others were silent for as long as theirs take to be full again.
  RateLimit(std::uint32_t per_second, std::uint32_t at_once, Clock& clock, std::size_t names)
      : per_second_(per_second),
        most_(static_cast<double>(per_second) * at_once),
        names_(names),
        clock_(&clock) {}

  // Takes one of `name`'s; false: there is none now.
  bool take(const std::string& name) {
    if (per_second_ == 0) return true;
    const auto now = clock_->steady();
    const bool fits = buckets_.contains(name) || buckets_.size() < names_ || make_room(now);
    return buckets_.try_emplace(fits ? name : kTheRest, most_, per_second_).first->second.take(now);
  }
  std::size_t names() const { return buckets_.size(); }

 private:
  static constexpr const char* kTheRest = "";  // no key, link or address is called so

  // At most once a second: whoever comes with ever new names must not make each of them a look
  // through all.
  bool make_room(TokenBucket::Time now) {
    if (looked_ != TokenBucket::Time() && now - looked_ < std::chrono::seconds(1)) return false;
    looked_ = now;
    std::erase_if(buckets_, [now](const auto& one) { return one.second.is_full(now); });
    return buckets_.size() < names_;
  }

  std::uint32_t per_second_;
  double most_;
  std::size_t names_;
  Clock* clock_;
  TokenBucket::Time looked_{};
  std::map<std::string, TokenBucket> buckets_;
};

}  // namespace cay::server
