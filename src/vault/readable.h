// readable: whether an answer is one in which a secret would be found. Pure.
#pragma once
#include "base/result.h"
#include "http/upstream.h"

namespace cay::vault {

// kUnavailable: answer_unreadable (packed, though it was asked not to be), answer_partial (a part:
// a secret could be fetched in several that are too short to know it by). `has_body`: whether one
// follows the head.
Result<void> check_readable(const http::UpstreamAnswer& answer, bool has_body);

}  // namespace cay::vault
