// Calls of tools for models that have none of their own. The prompt describes the tools, and the
// answer is JSON of a schema: {"tool": NAME, "arguments": {…}} or {"answer": TEXT}.
#pragma once
#include <memory>

#include "agent/llm/model.h"

namespace cay::agent {

// The request without tools and calls, as such a model understands it.
ModelRequest request_by_schema(ModelRequest request);
// Reads the call or the answer from the text of the reply. Text of another form is the answer.
void read_by_schema(ModelReply& reply);

// Requests without tools pass unchanged. Pieces of text are reported once the answer is whole.
std::unique_ptr<Model> with_calls_by_schema(std::unique_ptr<Model> model);

}  // namespace cay::agent
