// JSON text <-> Boost.JSON values, with Cay's bounds and errors.
#pragma once
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/storage_ptr.hpp>
#include <boost/json/value.hpp>
#include <string>
#include <string_view>

#include "base/result.h"

namespace cay::codec {

namespace json = boost::json;

// Strict JSON of valid UTF-8, at most 32 levels deep. Fails kInvalidArgument, reason
// malformed_json.
Result<json::value> parse(std::string_view text, json::storage_ptr memory = {});
// The same, and it must be an object. Empty text is an empty object when `empty_ok`.
enum class Empty { kRefused, kIsObject };
Result<json::object> parse_object(std::string_view text, Empty empty = Empty::kRefused,
                                  json::storage_ptr memory = {});

// Strings inside must be valid UTF-8 (see text()): the serializer copies them as they are.
std::string write(const json::value& value);
std::string write(const json::object& object);

// Memory for one small tree that is written or read and then dropped as a whole: it is taken at
// once and freed at once. Removing a part of the tree gives nothing back.
json::storage_ptr of_one_tree();

// A JSON string from bytes that a guest chose: invalid UTF-8 becomes U+FFFD.
json::string text(std::string_view bytes);

}  // namespace cay::codec
