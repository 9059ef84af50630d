// OpenRelays: the connections that are open through the broker, so that a change of a sandbox's
// grant ends those that it does not allow any more.
#pragma once
#include <boost/asio/awaitable.hpp>
#include <compare>
#include <cstddef>
#include <functional>
#include <memory>
#include <set>
#include <string>

#include "async/task.h"
#include "base/entered.h"

namespace cay::vault {

struct Granted;

class OpenRelays {
 public:
  struct One {
    std::string sandbox_id;
    std::function<bool(const Granted* now)> may_stay;  // null: it has no grant any more
    std::function<void()> cut;  // at once: when it returns nothing more passes
  };
  // Those of a sandbox lie together.
  struct Place {
    std::string sandbox_id;
    const One* one;
    auto operator<=>(const Place&) const = default;
  };
  using Now = std::function<std::shared_ptr<const Granted>()>;

  // It is open for as long as this lives.
  Entered<Place> enter(const One& one) { return {all_, Place{one.sandbox_id, &one}}; }

  // When this ends, those of the sandbox that `now` lets not stay are cut. It is asked for each of
  // them: a change that comes meanwhile counts at once. Only a few are judged in a row, so that a
  // sandbox with many takes its own time for it, and none of the others'.
  asio::awaitable<void> judge(std::string sandbox_id, Now now);

  static constexpr std::size_t kInARow = 16;

 private:
  std::set<Place> all_;
};

}  // namespace cay::vault
