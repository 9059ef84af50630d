#include "api/mcp/arguments.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace cay::api::mcp {
namespace {

// Numbers beyond this have no exact double, and no argument needs them.
constexpr double kMostWhole = 9e15;
constexpr std::size_t kMostComplaint = 2000;  // bytes of all complaints together

Param param(Param::Type type, std::string_view name, std::string_view about, std::int64_t min,
            std::int64_t max) {
  Param out;
  out.type = type;
  out.name = name;
  out.about = about;
  out.min = min;
  out.max = max;
  return out;
}

std::string_view view(const json::string& text) { return {text.data(), text.size()}; }

std::optional<double> number_of(const json::value& value) {
  if (value.is_int64()) return static_cast<double>(value.get_int64());
  if (value.is_uint64()) return static_cast<double>(value.get_uint64());
  if (value.is_double()) return value.get_double();
  return std::nullopt;
}

std::string range_of(const Param& param) {
  return "from " + std::to_string(param.min) + " to " + std::to_string(param.max);
}

std::string wrong_text(const json::value& value, std::int64_t most) {
  const auto* text = value.if_string();
  if (text == nullptr) return "must be a string";
  if (text->size() > static_cast<std::size_t>(most))
    return "is longer than " + std::to_string(most) + " bytes";
  if (view(*text).find('\0') != std::string_view::npos) return "contains a NUL";
  return {};
}

std::string wrong_number(const json::value& value, const Param& param) {
  const auto got = number_of(value);
  if (!got) return param.type == Param::Type::kInteger ? "must be an integer" : "must be a number";
  if (param.type == Param::Type::kInteger && std::floor(*got) != *got) return "must be an integer";
  if (std::abs(*got) > kMostWhole || *got < static_cast<double>(param.min) ||
      *got > static_cast<double>(param.max))
    return "must be " + range_of(param);
  return {};
}

std::string wrong_texts(const json::value& value, const Param& param) {
  const auto* list = value.if_array();
  if (list == nullptr) return "must be an array of strings";
  if (list->size() > static_cast<std::size_t>(param.max))
    return "has more than " + std::to_string(param.max) + " entries";
  for (const json::value& one : *list) {
    if (auto wrong = wrong_text(one, kMostEntryText); !wrong.empty()) return "an entry " + wrong;
  }
  return {};
}

std::string wrong_map(const json::value& value, const Param& param) {
  const auto* entries = value.if_object();
  if (entries == nullptr) return "must be an object of strings";
  if (entries->size() > static_cast<std::size_t>(param.max))
    return "has more than " + std::to_string(param.max) + " entries";
  for (const auto& one : *entries) {
    if (auto wrong = wrong_text(one.value(), kMostEntryText); !wrong.empty())
      return "an entry " + wrong;
  }
  return {};
}

std::string wrong_choice(const json::string& got, const Param& param) {
  if (param.one_of.empty() || std::ranges::count(param.one_of, view(got)) > 0) return {};
  std::string all;
  for (const std::string_view one : param.one_of)
    all += (all.empty() ? "" : ", ") + std::string(one);
  return "must be one of " + all;
}

std::string wrong_value(const json::value& value, const Param& param) {
  switch (param.type) {
    case Param::Type::kText: {
      if (auto wrong = wrong_text(value, param.max); !wrong.empty()) return wrong;
      return wrong_choice(value.get_string(), param);
    }
    case Param::Type::kInteger:
    case Param::Type::kNumber: return wrong_number(value, param);
    case Param::Type::kFlag: return value.is_bool() ? "" : "must be true or false";
    case Param::Type::kTexts: return wrong_texts(value, param);
    case Param::Type::kMap: return wrong_map(value, param);
  }
  return {};
}

json::object schema_of(const Param& param) {
  json::object out;
  switch (param.type) {
    case Param::Type::kText:
      out["type"] = "string";
      out["maxLength"] = param.max;
      break;
    case Param::Type::kInteger:
    case Param::Type::kNumber:
      out["type"] = param.type == Param::Type::kInteger ? "integer" : "number";
      out["minimum"] = param.min;
      out["maximum"] = param.max;
      break;
    case Param::Type::kFlag: out["type"] = "boolean"; break;
    case Param::Type::kTexts:
      out["type"] = "array";
      out["items"] = json::object{{"type", "string"}};
      out["maxItems"] = param.max;
      break;
    case Param::Type::kMap:
      out["type"] = "object";
      out["additionalProperties"] = json::object{{"type", "string"}};
      out["maxProperties"] = param.max;
      break;
  }
  if (!param.one_of.empty()) {
    json::array all;
    for (const std::string_view one : param.one_of) all.emplace_back(one);
    out["enum"] = std::move(all);
  }
  out["description"] = param.about;
  return out;
}

}  // namespace

Param text(std::string_view name, std::string_view about, std::int64_t most) {
  return param(Param::Type::kText, name, about, 0, most);
}
Param integer(std::string_view name, std::string_view about, std::int64_t min, std::int64_t max) {
  return param(Param::Type::kInteger, name, about, min, max);
}
Param number(std::string_view name, std::string_view about, std::int64_t min, std::int64_t max) {
  return param(Param::Type::kNumber, name, about, min, max);
}
Param flag(std::string_view name, std::string_view about) {
  return param(Param::Type::kFlag, name, about, 0, 0);
}
Param texts(std::string_view name, std::string_view about) {
  return param(Param::Type::kTexts, name, about, 0, kMostEntries);
}
Param map(std::string_view name, std::string_view about) {
  return param(Param::Type::kMap, name, about, 0, kMostEntries);
}
Param needed(Param param) {
  param.required = true;
  return param;
}

json::object schema_of(const std::vector<Param>& params) {
  json::object properties;
  json::array required;
  for (const Param& param : params) {
    properties[param.name] = schema_of(param);
    if (param.required) required.emplace_back(param.name);
  }
  json::object out{{"type", "object"}, {"properties", std::move(properties)}};
  if (!required.empty()) out["required"] = std::move(required);
  out["additionalProperties"] = false;
  return out;
}

std::string wrong_with(const json::object& arguments, const std::vector<Param>& params) {
  std::string out;
  const auto complain = [&out](std::string_view name, const std::string& what) {
    if (out.size() > kMostComplaint) return;
    out += (out.empty() ? "" : ". ") + std::string(name) + ": " + what;
  };
  for (const Param& param : params) {
    const json::value* given = arguments.if_contains(param.name);
    if (given == nullptr || given->is_null()) {
      if (param.required) complain(param.name, "is needed");
      continue;
    }
    if (auto wrong = wrong_value(*given, param); !wrong.empty()) complain(param.name, wrong);
  }
  for (const auto& one : arguments) {
    const std::string_view name(one.key().data(), one.key().size());
    const bool known = std::ranges::any_of(params, [&](const Param& p) { return p.name == name; });
    if (!known) complain(name.substr(0, kMostName), "is no argument of this tool");
  }
  return out;
}

bool Arguments::has(std::string_view name) const {
  const json::value* found = values_.if_contains(name);
  return found != nullptr && !found->is_null();
}

std::string Arguments::text(std::string_view name, std::string_view otherwise) const {
  return std::string(has(name) ? view(values_.at(name).as_string()) : otherwise);
}

std::int64_t Arguments::integer(std::string_view name, std::int64_t otherwise) const {
  if (!has(name)) return otherwise;
  return static_cast<std::int64_t>(number_of(values_.at(name)).value_or(0));
}

double Arguments::number(std::string_view name, double otherwise) const {
  if (!has(name)) return otherwise;
  return number_of(values_.at(name)).value_or(otherwise);
}

bool Arguments::flag(std::string_view name) const {
  return has(name) && values_.at(name).as_bool();
}

std::vector<std::string> Arguments::texts(std::string_view name) const {
  std::vector<std::string> out;
  if (!has(name)) return out;
  for (const json::value& one : values_.at(name).as_array())
    out.emplace_back(view(one.as_string()));
  return out;
}

json::value Arguments::value(std::string_view name) const {
  return has(name) ? values_.at(name) : json::value();
}

}  // namespace cay::api::mcp
