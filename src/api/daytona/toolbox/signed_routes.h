// The routes of signed URLs, in a table of their own: the same paths need a key otherwise.
#pragma once
#include "core/cay.h"
#include "http/router.h"

namespace cay::api::daytona {

// `router` sends requests with a signature and without a key to that table. References outlive it.
void divert_signed_files(http::Router& router, core::Cay& cay);

}  // namespace cay::api::daytona
