#include "agent/llm/strict_json.h"

namespace cay::agent {
namespace {

namespace json = codec::json;

const json::value* member_of(const json::object& in, std::string_view name) {
  const json::value* found = in.if_contains(name);
  return found == nullptr || found->is_null() ? nullptr : found;
}

Error wrong_type(std::string_view name, std::string_view type) {
  return bad_answer("'" + std::string(name) + "' is no " + std::string(type));
}

}  // namespace

Result<std::string> text_member(const json::object& in, std::string_view name) {
  const json::value* found = member_of(in, name);
  if (found == nullptr) return std::string();
  if (!found->is_string()) return wrong_type(name, "text");
  return std::string(found->get_string().data(), found->get_string().size());
}

Result<const json::object*> object_member(const json::object& in, std::string_view name) {
  const json::value* found = member_of(in, name);
  if (found == nullptr) return nullptr;
  if (!found->is_object()) return wrong_type(name, "object");
  return &found->get_object();
}

Result<const json::array*> array_member(const json::object& in, std::string_view name) {
  static const json::array kNone;
  const json::value* found = member_of(in, name);
  if (found == nullptr) return &kNone;
  if (!found->is_array()) return wrong_type(name, "list");
  return &found->get_array();
}

Result<const json::object*> object_element(const json::value& value, std::string_view list) {
  if (!value.is_object()) return wrong_type(std::string(list) + "[]", "object");
  return &value.get_object();
}

Result<std::string> arguments_member(const json::object& in, std::string_view name) {
  const json::value* found = member_of(in, name);
  if (found != nullptr && found->is_object()) return codec::write(*found);
  return text_member(in, name);
}

}  // namespace cay::agent
