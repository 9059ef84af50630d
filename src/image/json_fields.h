// Reads members of JSON that a stranger wrote: a member of another type counts as absent.
#pragma once
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

namespace cay::image {

namespace json = boost::json;

inline std::string string_in(const json::object& object, std::string_view key) {
  const json::value* value = object.if_contains(key);
  const json::string* text = value == nullptr ? nullptr : value->if_string();
  return text == nullptr ? std::string() : std::string(*text);
}

inline const json::object* object_in(const json::object& object, std::string_view key) {
  const json::value* value = object.if_contains(key);
  return value == nullptr ? nullptr : value->if_object();
}

inline const json::array* array_in(const json::object& object, std::string_view key) {
  const json::value* value = object.if_contains(key);
  return value == nullptr ? nullptr : value->if_array();
}

// Returns a whole number from 0 on.
inline std::optional<std::uint64_t> number_in(const json::object& object, std::string_view key) {
  const json::value* value = object.if_contains(key);
  if (value == nullptr) return std::nullopt;
  if (const auto* number = value->if_int64(); number != nullptr && *number >= 0)
    return static_cast<std::uint64_t>(*number);
  if (const auto* number = value->if_uint64()) return *number;
  return std::nullopt;
}

}  // namespace cay::image
