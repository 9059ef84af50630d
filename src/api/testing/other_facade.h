// A facade of the tests, as different from Cay's own as another vendor's. Its key comes in
// X-Other-Token, and its refusals are {"code": STATUS, "message": …}. A request with X-Other-Box is
// for the sandbox that the header names, whatever its path.
#pragma once
#include "core/cay.h"
#include "http/router.h"

namespace cay::api::testing {

// GET /other/boxes: the names of the caller's sandboxes. GET /other/health: needs no key.
// GET /id with X-Other-Box: the id of that sandbox. `cay` outlives the router.
void add_other_routes(http::Router& router, core::Cay& cay);

}  // namespace cay::api::testing
