// Stand-ins: addresses that a sandbox gets for a name whose address it cannot have. The operator's
// proxy has a range for names that this host does not find (upstream_proxy.h). Questions have one
// for names that nobody has allowed yet (questions.h). Both are of 240.0.0.0/4, which is
// reserved: nobody has such an address, and the gate never dials it.
#pragma once
#include <cstdint>
#include <string_view>

#include "base/ip_address.h"

namespace cay::gate {

// A name always has the same stand-in: sandboxes keep addresses, and another gate process may serve
// them later. Two names that share one are distinguished by the name that the policy requires, as
// at any shared address. `first`: the first byte, whose bits of `mask` vary.
IpAddress stand_in_of(std::string_view name, std::uint8_t first, std::uint8_t mask);

// 248.0.0.0/6, for names that are not looked up before somebody allows them: a lookup would carry
// the name out.
IpAddress asked_stand_in(std::string_view name);
bool is_asked_stand_in(const IpAddress& address);

}  // namespace cay::gate
