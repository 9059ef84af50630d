// Catalogue: the policies that have names, Cay's presets and the operator's own, and which of them
// the operator lets sandboxes have.
#pragma once
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "policy/cover.h"

namespace cay::policy {

// The operator's definition of one name.
struct Definition {
  std::string name;
  std::string about{};
  RuleSet rules;
  bool adds = false;  // to what is there under that name; else it is in its place
};

struct NamedPolicy {
  std::string name, about;
  enum class Origin : std::uint8_t {
    kPreset,
    kChanged,
    kOperator
  } origin = Origin::kPreset;  // kChanged: a preset that the operator changed
  std::shared_ptr<const Policy> policy;
};

// A sandbox's choice: a policy's name, or "rules" and rules of its own.
struct Choice {
  std::string policy;
  std::string rules{};  // of those: RuleSet::text()
  bool operator==(const Choice&) const = default;
};
inline constexpr std::string_view kOwnRules = "rules";

class Catalogue {
 public:
  Catalogue();  // the presets, and all of them allowed
  // `allowed`: names; empty: everything. kInvalidArgument (invalid_policy): a name that may not be
  // defined, a rule that names a policy which is not there or itself.
  static Result<Catalogue> make(const std::vector<Definition>& definitions,
                                std::vector<std::string> allowed);

  const NamedPolicy* find(std::string_view name) const;
  const std::vector<NamedPolicy>& all() const {
    return all_;
  }  // in the order of the presets, then the operator's
  const std::vector<std::string>& allowed() const { return allowed_; }

  // Returns the choice that a client's words mean: one name, or rules that may name policies. Fails
  // kInvalidArgument (invalid_policy) if they are not understood, or name a policy that does not
  // exist.
  Result<Choice> choose(std::string_view words) const;
  Result<Choice> choose(const RuleSet& rules) const;
  // Checks a choice against the operator's policies. Fails kPermissionDenied (policy_not_allowed),
  // with the rule that goes too far. A listed policy is allowed, and so are rules that let through
  // nothing but what a listed one does.
  Result<void> check_allowed(const Choice& choice) const;
  // kInvalidArgument (invalid_policy).
  Result<RuleSet> rules_of(const Choice& choice) const;
  // Returns the policy, ready to decide. One that is missing, cannot be read, or is beyond a bound
  // lets nothing through.
  std::shared_ptr<const Policy> policy_of(const Choice& choice) const;

  // All of it as text, for another process of the same release, and back.
  std::vector<std::string> texts() const;
  static Result<Catalogue> from_texts(const std::vector<std::string>& texts,
                                      std::vector<std::string> allowed);

 private:
  friend class OneMore;
  Policy::Named named() const;
  Result<void> check_there(const RuleSet& rules) const;
  Cover cover() const;

  std::vector<NamedPolicy> all_;
  std::vector<std::string> allowed_;
};

}  // namespace cay::policy
