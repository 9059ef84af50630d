#include "codec/lenient.h"

namespace cay::codec {

std::string string_at(const json::object& in, std::string_view name) {
  return maybe_string_at(in, name).value_or("");
}

std::optional<std::string> maybe_string_at(const json::object& in, std::string_view name) {
  const json::value* found = in.if_contains(name);
  if (found == nullptr || !found->is_string()) return std::nullopt;
  return std::string(found->get_string().data(), found->get_string().size());
}

bool bool_at(const json::object& in, std::string_view name) {
  const json::value* found = in.if_contains(name);
  return found != nullptr && found->is_bool() && found->get_bool();
}

const json::object& object_at(const json::object& in, std::string_view name) {
  static const json::object kEmpty;
  const json::value* found = in.if_contains(name);
  return found != nullptr && found->is_object() ? found->get_object() : kEmpty;
}

std::map<std::string, std::string> map_at(const json::object& in, std::string_view name) {
  std::map<std::string, std::string> out;
  const json::object& members = object_at(in, name);
  for (const auto& member : members) {
    if (member.value().is_string()) out[member.key()] = string_at(members, member.key());
  }
  return out;
}

}  // namespace cay::codec
