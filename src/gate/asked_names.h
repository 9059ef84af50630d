// AskedNames: how many names a sandbox may have looked up, by asking or by showing them, that it never had before. Whoever carries data out in names (below an allowed wildcard, or
// under `open`) needs ever new ones; programs ask for the same again.
#pragma once
#include <cstddef>
#include <list>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/token_bucket.h"

namespace cay::gate {

class AskedNames {
 public:
  static constexpr double kNewAtOnce = 2'000;
  static constexpr double kNewPerSecond = 30;
  static constexpr std::size_t kMost = 4'096;  // that are remembered: at most 253 bytes each. The longest unused goes, and is new again

  // Whether it was asked for before, and is remembered.
  bool has(std::string_view name) const { return by_name_.contains(name); }
  // One asked for before always may be.
  bool may_ask(const std::string& name, TokenBucket::Time now);

 private:
  std::list<std::string> names_;  // the latest first
  std::unordered_map<std::string_view, std::list<std::string>::iterator> by_name_;
  TokenBucket new_ones_{kNewAtOnce, kNewPerSecond};
};

}  // namespace cay::gate
