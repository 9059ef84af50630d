// PolicyVerbs: core::Policies over the operator's catalogue. Dry runs take a sandbox's own rules.
#pragma once
#include <memory>
#include <utility>

#include "core/proxies.h"
#include "core/registry.h"
#include "core/rule_work.h"
#include "core/settings.h"
#include "core/verbs/policies.h"

namespace cay::core {

class PolicyVerbs : public Policies {
 public:
  PolicyVerbs(std::shared_ptr<Registry> registry, const Proxies& proxies, RuleWork& rule_work,
              const Defaults& defaults)
      : registry_(std::move(registry)),
        proxies_(proxies),
        rule_work_(rule_work),
        defaults_(defaults) {}

  Task<PolicyList> list(Principal who) override;
  Task<PolicyTrial> try_policy(Principal who, PolicyQuestion question) override;

 private:
  std::shared_ptr<Registry> registry_;
  const Proxies& proxies_;
  RuleWork& rule_work_;
  const Defaults& defaults_;
};

}  // namespace cay::core
