// Query parameters that openapi.json does not know are refused: a typing error is no silent
// default.
#pragma once
#include "http/router.h"

namespace cay::api::native {

// Applies to every route of `router` that the document describes.
void refuse_unknown_queries(http::Router& router);

}  // namespace cay::api::native
