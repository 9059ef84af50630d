// The requests and answers of contexts, which both clients share.
#pragma once
#include <string>

#include "cay/contexts.h"
#include "codec/json.h"

namespace cay::sdk {

inline constexpr int kContextPause = 30;  // seconds that one request waits for an end

// The route of a context, with `rest` behind it.
std::string context_target(const std::string& ref, const std::string& id,
                           const std::string& rest = {});
boost::json::object context_body(const ContextOptions& options);
// A request to evaluate, whose answer waits for at most `wait` seconds.
boost::json::object call_body(const std::string& code, int wait, const CallOptions& options);
ContextInfo context_from(const boost::json::object& from);
Evaluation evaluation_from(const boost::json::object& from);
// Whether an evaluation is under way, or has more events than its answer `from`.
bool has_more(const boost::json::object& from);
// The target of the next answer of the evaluation `from`.
std::string next_target(const std::string& ref, const std::string& id,
                        const boost::json::object& from);
// The target of the first events of the evaluation `run` behind the place `from`, once they come.
std::string follow_target(const std::string& ref, const std::string& id, const std::string& run,
                          const std::string& from);
// Puts a later answer of an evaluation behind an earlier one.
void append_events(boost::json::object& whole, boost::json::object later);

}  // namespace cay::sdk
