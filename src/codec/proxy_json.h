// Secrets and proxy rules as the native API has them. No value of a secret, and no token, is ever
// in an answer.
#pragma once
#include <optional>
#include <vector>

#include "codec/fields.h"
#include "codec/json.h"
#include "model/proxy.h"

namespace cay::codec {

json::object to_json(const SecretInfo& secret);
json::array to_json(const std::vector<ProxyRule>& rules);
// The member `proxy`; nothing: it is not there, or `fields` complained.
std::optional<std::vector<ProxyRule>> read_proxy(Fields& fields);

}  // namespace cay::codec
