// Arguments: reads a call's arguments, and remembers the first fault in words for the model.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "codec/json.h"

namespace cay::agent {

class Arguments {
 public:
  explicit Arguments(const codec::json::object& from) : from_(from) {}  // outlives it

  std::string text(std::string_view name);  // required
  std::string text_or(std::string_view name, std::string other);
  bool flag_or(std::string_view name, bool other);  // "true" counts, as some models write it
  std::int64_t number_or(std::string_view name, std::int64_t other);
  std::optional<double> seconds(std::string_view name);
  std::vector<std::string> texts(std::string_view name);  // optional
  bool has(std::string_view name) const;

  void complain(std::string fault);
  const std::string& fault() const { return fault_; }  // empty: none

 private:
  const codec::json::value* find(std::string_view name) const;
  std::optional<double> number(std::string_view name);

  const codec::json::object& from_;
  std::string fault_;
};

// A JSON schema of type "object", member by member.
class Schema {
 public:
  Schema& text(std::string_view name, std::string_view description, bool required = true);
  Schema& number(std::string_view name, std::string_view description);
  Schema& flag(std::string_view name, std::string_view description);
  Schema& texts(std::string_view name, std::string_view description);
  Schema& choice(std::string_view name, std::string_view description,
                 std::vector<std::string> values);
  Schema& member(std::string_view name, codec::json::object schema, bool required);
  codec::json::object take();

 private:
  codec::json::object properties_;
  codec::json::array required_;
};

}  // namespace cay::agent
