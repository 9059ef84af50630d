// Usage as JSON.
#pragma once
#include "codec/json.h"
#include "model/usage.h"

namespace cay::codec {

json::object to_json(const UsageTotals& totals);
// {"sandboxes", "totals"}.
json::object to_json(const UsageSum& sum);

}  // namespace cay::codec
