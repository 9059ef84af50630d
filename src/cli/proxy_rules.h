// The proxy rules of options: --use, --fence and --proxy, with --method and --path.
#pragma once
#include "cli/args.h"
#include "codec/json.h"

namespace cay::cli {

// Returns the rules as the API takes them. Throws ApiError if an option is not the JSON that it
// should be.
codec::json::array rules_of(const RuleArgs& args);
// A sandbox that has them from its beginning.
sdk::CreateOptions with_rules(sdk::CreateOptions options, const RuleArgs& args);

}  // namespace cay::cli
