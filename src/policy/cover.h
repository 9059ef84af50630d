// Cover checks whether everything that one set of rules allows is allowed by other sets, too. In
// doubt it returns that it is not.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "policy/policy.h"

namespace cay::policy {

class Cover {
 public:
  // `named`: see Policy.
  Cover(std::vector<std::shared_ptr<const Policy>> allowed, Policy::Named named);
  // Returns the first rule of `asked` that goes beyond all that is allowed, or nullopt.
  std::optional<std::string> beyond(const RuleSet& asked) const;
  // The same for one rule that allows and names no policy.
  bool is_beyond(const Rule& rule) const;

 private:
  std::vector<std::shared_ptr<const Policy>> allowed_;
  Policy::Named named_;
  bool everything_ = false;
  std::vector<const Rule*> outer_;
  std::vector<std::shared_ptr<const Policy>> held_;  // whose rules those are
};

}  // namespace cay::policy
