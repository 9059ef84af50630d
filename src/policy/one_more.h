// OneMore: a choice with one more rule, as `cay policy set --add` adds it, for many rules one after
// the other. The existing rules are read and compiled once.
#pragma once
#include <memory>
#include <optional>
#include <string_view>

#include "policy/catalogue.h"

namespace cay::policy {

class OneMore {
 public:
  // `policies` outlives it.
  OneMore(const Catalogue& policies, const Choice& choice);

  // Each rule allows, and names no policy. kInvalidArgument (invalid_policy): what is there cannot
  // be read, or has no room for it.
  Result<void> takes(const Rule& rule) const;
  Verdict decide(const ConnectionFacts& facts, const Rule& rule) const {
    return policy_->decide(facts, &rule);
  }
  Verdict may_resolve(std::string_view name, const Rule& rule) const {
    return policy_->may_resolve(name, &rule);
  }
  // By the operator, with it.
  bool is_allowed(const Rule& rule) const;

 private:
  Result<RuleSet> read(const Choice& choice) const;

  const Catalogue& policies_;
  Result<void> readable_;
  Extent extent_;
  std::shared_ptr<const Policy> policy_;
  std::optional<Cover> cover_;  // none: all is allowed
  bool beyond_ = false;         // without any rule more
};

}  // namespace cay::policy
