// Run a command to its end: of POST …/commands with wait, and of the batch call.
#pragma once
#include <optional>

#include "api/common/answer.h"
#include "api/common/collect.h"
#include "codec/json.h"
#include "codec/model_read.h"

namespace cay::api::native {

// Checks before the command begins that there is room for the requested output. Few commands write
// that much, so that nothing is taken yet.
Result<void> check_room(const codec::CommandRequest& request, const core::AnswerRoom::Part& part);

struct Ran : Collected {
  bool runs_on = false;  // wait_ms passed before its end: `command` is as it was then
  // The refusals since the start of a command that failed. nullopt: it did not fail, or the report
  // did not come in time.
  std::optional<codec::json::array> network_refused;
};

// For the caller of `exchange`: starts, which is on its record from then on, writes stdin, waits
// for the end or for `wait_ms`.
// The Collected's command holds the end, and `part` the output as JSON. kExhausted
// (too_many_answers): nothing was begun. `besides`: what else the request does, for its record,
// behind the command.
Task<Ran> run_to_end(core::Cay& cay, ExchangePtr exchange, std::string ref,
                     codec::CommandRequest request, AnswerPart part, std::string besides = {});

// A CommandResult (openapi.json).
codec::json::object result_json(const Ran& got, const std::string& sandbox);

}  // namespace cay::api::native
