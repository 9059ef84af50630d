// A claim as a name that clouds take for a sandbox.
#pragma once
#include <string>

namespace cay::providers {

// Small letters, digits and hyphens, at most 63. The same claim has the same name, and another one
// another name.
std::string claim_name(const std::string& claim);

}  // namespace cay::providers
