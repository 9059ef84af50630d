// Reads members of an answer. One that is absent or null is empty. One of another type than its
// vendor documents is an error, since guessing would lose a part of the answer.
#pragma once
#include <string>
#include <string_view>

#include "agent/llm/vendor_error.h"
#include "codec/json.h"

namespace cay::agent {

Result<std::string> text_member(const codec::json::object& in, std::string_view name);
// Null if it is absent.
Result<const codec::json::object*> object_member(const codec::json::object& in,
                                                 std::string_view name);
Result<const codec::json::array*> array_member(const codec::json::object& in,
                                               std::string_view name);
// Each element of a list is an object.
Result<const codec::json::object*> object_element(const codec::json::value& value,
                                                  std::string_view list);
// The text of a call's arguments, which some servers write as an object.
Result<std::string> arguments_member(const codec::json::object& in, std::string_view name);

}  // namespace cay::agent
