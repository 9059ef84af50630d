// The methods of the bench's client. Each reads its settings from the session, runs on its loop
// and returns what it measured. bench/README.md lists the settings.
#pragma once
#include "session.h"

namespace cay::bench {

// Creates sandboxes and runs a program in each: from the request to the output.
Awaitable<json::object> create(Session& at);
// Runs a program in one sandbox, over and over, on kept connections.
Awaitable<json::object> exec(Session& at);
// Evaluates in the warm context of one sandbox.
Awaitable<json::object> evaluate(Session& at);
// Creates, runs and deletes for so many seconds.
Awaitable<json::object> churn(Session& at);
// Stops a sandbox and runs a program in it.
Awaitable<json::object> wake(Session& at);
// Writes a file of a sandbox, or reads it.
Awaitable<json::object> upload(Session& at);
Awaitable<json::object> download(Session& at);
// Reads the output of one command, by the SDK or by LangSmith's frames.
Awaitable<json::object> stream(Session& at);
Awaitable<json::object> stream_langsmith(Session& at);
// Makes many sandboxes and keeps them until this program's input ends.
Awaitable<json::object> hold(Session& at);

}  // namespace cay::bench
