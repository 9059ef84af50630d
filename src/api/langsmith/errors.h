// How LangSmith's clients want errors: {"detail":{"error","message","error_id"}} with a status and
// a word for each operation (protocol reference, section 2.2).
#pragma once
#include "api/common/answer.h"
#include "codec/fields.h"

namespace cay::api::langsmith {

http::Response envelope(int status, std::string_view type, const std::string& message,
                        const std::string& error_id);

// The same, and natively for those who meant a path of Cay's own.
http::Response both_ways(int status, std::string_view type, const Error& error);

// Boxes: get, list, start, stop, delete, update.
http::Response control_error(const Error& error, const std::string& error_id);
// POST boxes: 408 not in time, 429 quota, 400 no such snapshot.
http::Response create_error(const Error& error, const std::string& error_id);
// Data plane, by operation: "CommandError", "ReadError", "WriteError".
Shape data_error(std::string type);
// 422 with the list that makes the clients raise ValidationError with a field.
http::Response validation_error(const codec::Fields& fields);
// Not built yet: 501 in the envelope.
http::Response unsupported(const std::string& what);
// Nothing was begun, and a later try may succeed: no mistake of the caller's.
bool not_now(const Error& error);
// The same, or it is not known whether it was begun: a repeat under the same id shows which.
bool may_go_again(const Error& error);
// A refused WebSocket upgrade that every client retries: 503 and Retry-After.
http::Response not_ready_upgrade(const Error& error, const std::string& error_id);

}  // namespace cay::api::langsmith
