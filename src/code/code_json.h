// RunRequest and RunResult as JSON, as the native API speaks them.
#pragma once
#include "code/request.h"
#include "code/result.h"
#include "codec/fields.h"
#include "codec/json.h"

namespace cay::code {

// Complaints go into `fields`. check() of request.h judges the rest.
void read_request(codec::Fields& fields, RunRequest& request);
codec::json::object to_json(const RunResult& result);

}  // namespace cay::code
