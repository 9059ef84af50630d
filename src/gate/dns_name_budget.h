// DnsNameBudget limits how many new names a sandbox may resolve or show in its connections. A guest
// that carries data out in names needs ever new ones, below a wildcard or under `open`. Programs
// repeat the same names.
#pragma once
#include <cstddef>
#include <list>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/token_bucket.h"

namespace cay::gate {

class DnsNameBudget {
 public:
  static constexpr double kNewAtOnce = 2'000;
  static constexpr double kNewPerSecond = 30;
  static constexpr std::size_t kMost = 4'096;  // that are remembered: at most 253 bytes each. The
                                               // longest unused goes, and is new again

  // Whether the name is known and still remembered.
  bool has(std::string_view name) const { return by_name_.contains(name); }
  // A known name is always allowed.
  bool may_ask(const std::string& name, TokenBucket::Time now);

 private:
  std::list<std::string> names_;  // the latest first
  std::unordered_map<std::string_view, std::list<std::string>::iterator> by_name_;
  TokenBucket new_ones_{kNewAtOnce, kNewPerSecond};
};

}  // namespace cay::gate
