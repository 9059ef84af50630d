#include "agent/tools/arguments.h"

#include <charconv>
#include <cmath>
#include <utility>

namespace cay::agent {
namespace {

namespace json = codec::json;

std::string named(std::string_view name, std::string_view what) {
  return "'" + std::string(name) + "' " + std::string(what);
}

}  // namespace

const json::value* Arguments::find(std::string_view name) const {
  const auto* found = from_.if_contains(name);
  return found == nullptr || found->is_null() ? nullptr : found;
}

bool Arguments::has(std::string_view name) const { return find(name) != nullptr; }

void Arguments::complain(std::string fault) {
  if (fault_.empty()) fault_ = std::move(fault);
}

std::string Arguments::text(std::string_view name) {
  const auto* value = find(name);
  if (value == nullptr) {
    complain(named(name, "is required"));
    return {};
  }
  return text_or(name, {});
}

std::string Arguments::text_or(std::string_view name, std::string other) {
  const auto* value = find(name);
  if (value == nullptr) return other;
  if (!value->is_string()) {
    complain(named(name, "must be a string"));
    return other;
  }
  return std::string(value->get_string());
}

bool Arguments::flag_or(std::string_view name, bool other) {
  const auto* value = find(name);
  if (value == nullptr) return other;
  if (value->is_bool()) return value->get_bool();
  if (value->is_string() && value->get_string() == "true") return true;
  if (value->is_string() && value->get_string() == "false") return false;
  complain(named(name, "must be true or false"));
  return other;
}

std::optional<double> Arguments::number(std::string_view name) {
  const auto* value = find(name);
  if (value == nullptr) return std::nullopt;
  if (value->is_number()) return value->to_number<double>();
  if (value->is_string()) {  // some models write numbers as text
    const auto& text = value->get_string();
    double out = 0;
    const auto got = std::from_chars(text.data(), text.data() + text.size(), out);
    if (got.ec == std::errc() && got.ptr == text.data() + text.size()) return out;
  }
  complain(named(name, "must be a number"));
  return std::nullopt;
}

std::int64_t Arguments::number_or(std::string_view name, std::int64_t other) {
  const auto got = number(name);
  if (!got) return other;
  if (std::floor(*got) != *got || std::abs(*got) > 9e15) {
    complain(named(name, "must be a whole number"));
    return other;
  }
  return static_cast<std::int64_t>(*got);
}

std::optional<double> Arguments::seconds(std::string_view name) { return number(name); }

std::vector<std::string> Arguments::texts(std::string_view name) {
  std::vector<std::string> out;
  const auto* value = find(name);
  if (value == nullptr) return out;
  if (!value->is_array()) {
    complain(named(name, "must be a list of strings"));
    return out;
  }
  for (const auto& item : value->get_array()) {
    if (item.is_string()) {
      out.emplace_back(item.get_string());
    } else {
      complain(named(name, "must be a list of strings"));
    }
  }
  return out;
}

Schema& Schema::member(std::string_view name, json::object schema, bool required) {
  properties_[name] = std::move(schema);
  if (required) required_.emplace_back(json::string(name));
  return *this;
}

Schema& Schema::text(std::string_view name, std::string_view description, bool required) {
  return member(name, {{"type", "string"}, {"description", description}}, required);
}

Schema& Schema::number(std::string_view name, std::string_view description) {
  return member(name, {{"type", "integer"}, {"description", description}}, false);
}

Schema& Schema::flag(std::string_view name, std::string_view description) {
  return member(name, {{"type", "boolean"}, {"description", description}}, false);
}

Schema& Schema::texts(std::string_view name, std::string_view description) {
  return member(name,
                {{"type", "array"},
                 {"items", json::object{{"type", "string"}}},
                 {"description", description}},
                false);
}

Schema& Schema::choice(std::string_view name, std::string_view description,
                       std::vector<std::string> values) {
  json::array list;
  for (auto& value : values) list.emplace_back(json::string(value));
  return member(name, {{"type", "string"}, {"description", description}, {"enum", list}}, false);
}

json::object Schema::take() {
  return {{"type", "object"},
          {"properties", std::move(properties_)},
          {"required", std::move(required_)}};
}

}  // namespace cay::agent
