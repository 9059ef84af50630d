// EgressPolicy: the policy of one sandbox, and its verdict on a connection. It is pure: facts in,
// verdict out.
#pragma once
#include <cstdint>
#include <memory>
#include <string>

#include "gate/connection_record.h"
#include "policy/catalogue.h"

namespace cay::gate {

class EgressPolicy {
 public:
  EgressPolicy(policy::Choice choice, const policy::Catalogue& catalogue);

  // Returns the choice that stands for an unreadable policy. It allows nothing.
  static policy::Choice unreadable();

  const policy::Choice& choice() const { return choice_; }
  // Whether the operator allows the policy itself. If not, reason() is the reason word.
  bool is_allowed() const { return reason_ == nullptr; }
  const char* reason() const { return reason_; }
  // Whether the hosts of proxy rules are open beside it: not where it is `off`.
  bool opens_proxy_hosts() const { return opens_proxy_hosts_; }

  // A grant of the facts counts where no rule decides and the policy has `ask`.
  policy::Verdict decide(const Facts& facts) const;
  // Whether a destination with this verdict waits for an answer.
  bool asks_after(const policy::Verdict& verdict) const {
    return is_allowed() && rules_->rules().asks && verdict.says == policy::Verdict::Says::kNo &&
           verdict.rule.empty();
  }
  // Returns the reason word of a refusal that decide() returned.
  const char* reason_for(const Facts& facts, const policy::Verdict& verdict) const;
  // Whether a name that a connection shows may change the verdict at this endpoint.
  bool depends_on_names(const Endpoint& to) const;
  // Whether it allows the host of a fence. The broker dials such a host, so its name alone decides.
  bool allows_fenced_host(const std::string& host, std::uint16_t port) const;

  // As policy::Policy has them.
  policy::Verdict may_resolve(const std::string& name) const;
  std::string refuses_v6() const;

 private:
  policy::Choice choice_;
  std::shared_ptr<const policy::Policy> rules_;
  const char* reason_ = nullptr;
  bool opens_proxy_hosts_ = false;
};

}  // namespace cay::gate
