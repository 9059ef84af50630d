// OpenRelays: the connections that are open through the broker, so that a change of a sandbox's grant ends those that it does not allow any more.
#pragma once
#include <functional>
#include <set>
#include <string>

#include "base/entered.h"

namespace cay::vault {

struct Granted;

class OpenRelays {
 public:
  struct One {
    std::string sandbox_id;
    std::function<bool(const Granted* now)> may_stay;  // null: it has no grant any more
    std::function<void()> cut;                         // at once: when it returns nothing more passes
  };

  // It is open for as long as this lives.
  Entered<const One*> enter(const One& one) { return {all_, &one}; }

  // The sandbox goes by `now`.
  void judge(const std::string& sandbox_id, const Granted* now);

 private:
  std::set<const One*> all_;
};

}  // namespace cay::vault
