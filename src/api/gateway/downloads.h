// One file of a sandbox by its link: GET and HEAD, ranges, conditions.
#pragma once
#include "api/common/answer.h"
#include "core/cay.h"
#include "core/verbs/links.h"

namespace cay::api {

// Fails as Files::read does, before anything was answered.
Task<void> serve_download(core::Cay& cay, ExchangePtr exchange, core::OpenLink link);

}  // namespace cay::api
