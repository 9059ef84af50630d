// PolicyVerbs: core::Policies over the operator's catalogue. Dry runs take a sandbox's own rules.
#pragma once
#include <memory>
#include <utility>

#include "core/jobs.h"
#include "core/proxies.h"
#include "core/registry.h"
#include "core/rule_work.h"
#include "core/settings.h"
#include "core/verbs/policies.h"
#include "core/verbs/sandboxes.h"

namespace cay::core {

class PolicyVerbs : public Policies {
 public:
  PolicyVerbs(std::shared_ptr<Registry> registry, Sandboxes& sandboxes, Jobs& jobs,
              const Proxies& proxies, RuleWork& rule_work, const Defaults& defaults)
      : registry_(std::move(registry)),
        sandboxes_(sandboxes),
        jobs_(jobs),
        proxies_(proxies),
        rule_work_(rule_work),
        defaults_(defaults) {}

  Task<PolicyList> list(Principal who) override;
  Task<PolicyTrial> try_policy(Principal who, PolicyQuestion question) override;
  Task<std::vector<NetworkQuestion>> questions(Principal who, std::string ref,
                                               std::chrono::milliseconds wait) override;
  Task<NetworkQuestion> answer(Principal who, std::string ref, NetworkAnswer answer) override;

 private:
  std::shared_ptr<Registry> registry_;
  Sandboxes& sandboxes_;
  Jobs& jobs_;
  const Proxies& proxies_;
  RuleWork& rule_work_;
  const Defaults& defaults_;
};

}  // namespace cay::core
