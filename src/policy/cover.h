// Cover: whether what one set of rules lets through is surely within what others do. In doubt it is not.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "policy/policy.h"

namespace cay::policy {

// The first rule of `asked` that goes beyond all of `allowed`; nullopt: none does. `named`: see Policy.
std::optional<std::string> goes_beyond(const RuleSet& asked, const std::vector<std::shared_ptr<const Policy>>& allowed, const Policy::Named& named);

}  // namespace cay::policy
