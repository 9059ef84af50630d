// Calls of tools for models that have none of their own. The prompt describes the tools, and the
// answer is JSON of a schema: {"tool": NAME, "arguments": {…}} or {"answer": TEXT}.
#pragma once
#include <cstdint>
#include <memory>

#include "agent/llm/model.h"

namespace cay::agent {

// A small model (a window below 16,000 tokens) reads the first sentence of each tool's description,
// and its required arguments.
enum class Size : std::uint8_t { kUsual, kSmall };
bool is_small(const ModelProfile& profile);

// The request without tools and calls, as such a model understands it.
ModelRequest request_by_schema(ModelRequest request, Size size = Size::kUsual);
// Reads the call or the answer from the text of the reply. Text of another form is the answer.
void read_by_schema(ModelReply& reply);

// A request for the answer alone, as free text: the last task, each call since then as a text, and
// its result. Small models answer it where they would repeat a call for ever.
ModelRequest request_for_answer(ModelRequest request);

// A model that makes the same call a third time, with the same result twice, is in a loop. It gets
// a request for its answer in place of another run, and the answer comes in pieces.
//
// Requests without tools pass unchanged. Else pieces of text are reported once the answer is whole.
std::unique_ptr<Model> with_calls_by_schema(std::unique_ptr<Model> model);

}  // namespace cay::agent
