#include "agent/loop/schema.h"

#include <algorithm>
#include <string_view>

namespace cay::agent {
namespace {

namespace json = codec::json;

bool is_of_type(std::string_view type, const json::value& value) {
  if (type == "object") return value.is_object();
  if (type == "array") return value.is_array();
  if (type == "string") return value.is_string();
  if (type == "boolean") return value.is_bool();
  if (type == "null") return value.is_null();
  if (type == "number") return value.is_number();
  if (type != "integer") return true;
  if (value.is_int64() || value.is_uint64()) return true;
  return value.is_double() &&
         value.get_double() == static_cast<double>(static_cast<long long>(value.get_double()));
}

bool fits_type(const json::value& type, const json::value& value) {
  if (type.is_string()) return is_of_type(std::string_view(type.get_string()), value);
  if (!type.is_array()) return true;
  return std::ranges::any_of(type.get_array(), [&](const auto& each) {
    return each.is_string() && is_of_type(std::string_view(each.get_string()), value);
  });
}

std::optional<double> bound(const json::object& schema, const char* name) {
  const auto* value = schema.if_contains(name);
  if (value == nullptr || !value->is_number()) return std::nullopt;
  return value->to_number<double>();
}

std::optional<std::string> size_fault(const json::object& schema, double size, const char* least,
                                      const char* most, const std::string& at) {
  if (const auto low = bound(schema, least); low && size < *low) return at + ": too small";
  if (const auto high = bound(schema, most); high && size > *high) return at + ": too large";
  return std::nullopt;
}

std::optional<std::string> object_fault(const json::object& schema, const json::object& value,
                                        const std::string& at) {
  if (const auto* required = schema.if_contains("required"); required && required->is_array()) {
    for (const auto& name : required->get_array()) {
      if (name.is_string() && !value.contains(name.get_string())) {
        return at + "." + std::string(name.get_string()) + ": it is missing";
      }
    }
  }
  const auto* properties = schema.if_contains("properties");
  const auto* extra = schema.if_contains("additionalProperties");
  for (const auto& [name, member] : value) {
    const std::string place = at + "." + std::string(name);
    const auto* known = properties && properties->is_object()
                            ? properties->get_object().if_contains(name)
                            : nullptr;
    if (known == nullptr) {
      if (extra && extra->is_bool() && !extra->get_bool()) return place + ": it is not allowed";
    } else if (known->is_object()) {
      if (auto fault = schema_fault(known->get_object(), member, place)) return fault;
    }
  }
  return std::nullopt;
}

std::optional<std::string> array_fault(const json::object& schema, const json::array& value,
                                       const std::string& at) {
  const auto* items = schema.if_contains("items");
  if (items != nullptr && items->is_object()) {
    for (std::size_t i = 0; i < value.size(); ++i) {
      const auto place = at + "[" + std::to_string(i) + "]";
      if (auto fault = schema_fault(items->get_object(), value[i], place)) return fault;
    }
  }
  return size_fault(schema, static_cast<double>(value.size()), "minItems", "maxItems", at);
}

bool fits_any(const json::array& schemas, const json::value& value) {
  return std::ranges::any_of(schemas, [&](const auto& each) {
    return !each.is_object() || !schema_fault(each.get_object(), value);
  });
}

}  // namespace

std::optional<std::string> schema_fault(const json::object& schema, const json::value& value,
                                        std::string at) {
  if (const auto* type = schema.if_contains("type"); type && !fits_type(*type, value)) {
    return at + ": its type is not " + codec::write(*type);
  }
  if (const auto* values = schema.if_contains("enum"); values && values->is_array()) {
    const auto& list = values->get_array();
    if (std::ranges::find(list, value) == list.end()) {
      return at + ": it is none of " + codec::write(*values);
    }
  }
  if (const auto* only = schema.if_contains("const"); only && *only != value) {
    return at + ": it is not " + codec::write(*only);
  }
  if (const auto* any = schema.if_contains("anyOf"); any && any->is_array()) {
    if (!fits_any(any->get_array(), value)) return at + ": it fits no schema of anyOf";
  }
  if (value.is_object()) return object_fault(schema, value.get_object(), at);
  if (value.is_array()) return array_fault(schema, value.get_array(), at);
  if (value.is_string()) {
    const auto size = static_cast<double>(value.get_string().size());
    return size_fault(schema, size, "minLength", "maxLength", at);
  }
  if (value.is_number()) {
    return size_fault(schema, value.to_number<double>(), "minimum", "maximum", at);
  }
  return std::nullopt;
}

Result<json::value> json_of_answer(const std::string& text) {
  auto whole = codec::parse(text);
  if (whole) return whole;
  const auto open = text.find("```");
  const auto begin = open == std::string::npos ? open : text.find('\n', open);
  if (begin == std::string::npos) return whole;
  const auto end = text.find("```", begin);
  if (end == std::string::npos) return whole;
  return codec::parse(std::string_view(text).substr(begin + 1, end - begin - 1));
}

}  // namespace cay::agent
