// Schema: checks JSON against a JSON schema. It reads type, enum, const, required, properties,
// additionalProperties (false), items, anyOf and the bounds of lengths and numbers. It accepts what
// any other keyword would reject.
#pragma once
#include <optional>
#include <string>

#include "codec/json.h"

namespace cay::agent {

// The first fault, with its place: "$.name: a string is needed". nullopt: there is none.
std::optional<std::string> schema_fault(const codec::json::object& schema,
                                        const codec::json::value& value, std::string at = "$");

// The JSON of a model's answer: all of it, or what stands in its one fenced block.
Result<codec::json::value> json_of_answer(const std::string& text);

}  // namespace cay::agent
