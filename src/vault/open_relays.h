// OpenRelays: the connections that are open through the broker. A change of a sandbox's grant
// closes those that the new grant does not allow.
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

  // Closes the connections of the sandbox that `now` does not allow. `now` is called for each
  // connection, so a change in between counts at once. The call yields after every few of them, so
  // a sandbox with many connections delays no other sandbox.
  asio::awaitable<void> judge(std::string sandbox_id, Now now);

  static constexpr std::size_t kInARow = 16;

 private:
  std::set<Place> all_;
};

}  // namespace cay::vault
