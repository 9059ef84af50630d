// Reads the members of an answer leniently: one that is missing or of another type is empty.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "codec/json.h"

namespace cay::codec {

std::string string_at(const json::object& in, std::string_view name);
std::optional<std::string> maybe_string_at(const json::object& in, std::string_view name);
bool bool_at(const json::object& in, std::string_view name);
std::map<std::string, std::string> map_at(const json::object& in, std::string_view name);
// Returns an empty object if there is none.
const json::object& object_at(const json::object& in, std::string_view name);

template <class T>
T number_at(const json::object& in, std::string_view name) {
  const json::value* found = in.if_contains(name);
  if (found == nullptr || !found->is_number()) return T{};
  json::error_code failed;
  const T got = found->to_number<T>(failed);
  return failed ? T{} : got;
}

}  // namespace cay::codec
