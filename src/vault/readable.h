// check_readable() checks that the scanner could find a secret in a response. It is pure.
#pragma once
#include "base/result.h"
#include "http/upstream.h"

namespace cay::vault {

// Fails kUnavailable (answer_unreadable) if the response is compressed although the request forbade
// it. Fails kUnavailable (answer_partial) for a part: a secret in short parts would go unnoticed.
// `has_body` is true if a body follows the head.
Result<void> check_readable(const http::UpstreamAnswer& answer, bool has_body);

}  // namespace cay::vault
