// The proxy rules that options ask for: --use, --fence and --proxy, with --method and --path.
#pragma once
#include "cli/args.h"
#include "codec/json.h"

namespace cay::cli {

// As the API takes them. Throws ApiError where JSON is asked for and is none.
codec::json::array rules_of(const RuleArgs& args);
// A sandbox that has them from its beginning.
sdk::CreateOptions with_rules(sdk::CreateOptions options, const RuleArgs& args);

}  // namespace cay::cli
