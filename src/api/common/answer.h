// From a handler's Result to an HTTP answer: one place where errors become statuses.
#pragma once
#include <functional>
#include <memory>
#include <string>

#include "codec/json.h"
#include "http/exchange.h"

namespace cay::api {

using ExchangePtr = std::shared_ptr<http::Exchange>;

// A use case that ends in one answer.
using Verb = std::function<Task<http::Response>(ExchangePtr)>;
// One that answers by itself (streams, WebSockets). An Error: nothing was answered yet.
using StreamVerb = std::function<Task<void>(ExchangePtr)>;
// How a facade writes an error down; `error_id` is in the log when the failure is ours.
using Shape = std::function<http::Response(const Error&, const std::string& error_id)>;

http::Handler answering(Verb verb, Shape shape);
http::Handler streaming(StreamVerb verb, Shape shape);

// The native table (docs/api.md).
int status_of(const Error& error);
http::Response native_error(const Error& error, const std::string& error_id);

http::Response json_answer(int status, const codec::json::value& body);
http::Response empty_answer(int status);

// A new error id, and a line in the log if the failure is ours.
std::string note_error(const Error& error);

Error invalid(std::string reason, std::string message);

}  // namespace cay::api
