// Run a command to its end: of POST …/commands with wait, and of the batch call.
#pragma once
#include "api/common/answer.h"
#include "api/common/collect.h"
#include "codec/model_read.h"

namespace cay::api::native {

// Before anything is begun: whether there is room for what is asked for. It is seldom written, so nothing is taken yet.
Result<void> check_room(const codec::CommandRequest& request, const core::AnswerRoom::Part& part);

// For the caller of `exchange`: starts, which is on its record from then on, writes stdin, waits. The Collected's command holds the end, and `part` the
// output as JSON. kExhausted (too_many_answers): nothing was begun. `besides`: what else the request does, for its record, behind the command.
Task<Collected> run_to_end(core::Cay& cay, ExchangePtr exchange, std::string ref, codec::CommandRequest request, AnswerPart part, std::string besides = {});

// A CommandResult (openapi.json).
codec::json::object result_json(const Collected& got, const std::string& sandbox);

}  // namespace cay::api::native
