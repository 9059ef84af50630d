// From a handler's Result to an HTTP answer: one place where errors become statuses.
#pragma once
#include <functional>
#include <memory>
#include <string>

#include "codec/json.h"
#include "core/cay.h"
#include "http/exchange.h"

namespace cay::api {

using ExchangePtr = std::shared_ptr<http::Exchange>;

// A use case that ends in one answer.
using Verb = std::function<Task<http::Response>(ExchangePtr)>;
// One that answers by itself (streams, WebSockets). An Error: nothing was answered yet.
using StreamVerb = std::function<Task<void>(ExchangePtr)>;
// How a facade writes an error down; `error_id` is in the log when the failure is ours.
using Shape = std::function<http::Response(const Error&, const std::string& error_id)>;

// A large answer holds its part of the daemon's room for answers until it is sent: its verb's own
// (Response::holds), or another.
http::Handler answering(core::Cay& cay, Verb verb, Shape shape);
http::Handler streaming(StreamVerb verb, Shape shape);

// The same for a verb that answers by itself, before it does: kExhausted (too_many_answers).
Result<void> find_room(core::Cay& cay, const http::Exchange& exchange, http::Response& response);

// The native table (docs/api.md).
int status_of(const Error& error);
http::Response native_error(const Error& error, const std::string& error_id);

http::Response json_answer(int status, const codec::json::value& body);
http::Response empty_answer(int status);

// A new error id, and a line in the log if the failure is ours.
std::string note_error(const Error& error);

Error invalid(std::string reason, std::string message);

}  // namespace cay::api
