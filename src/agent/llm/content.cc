#include "agent/llm/content.h"

#include <algorithm>

#include "codec/base64.h"

namespace cay::agent {

namespace json = codec::json;

std::string data_url(const Media& media) {
  return "data:" + media.mime + ";base64," + codec::base64(media.bytes);
}

bool is_image(const Media& media) { return media.mime.starts_with("image/"); }

bool is_pdf(const Media& media) { return media.mime == "application/pdf"; }

std::string unseen(const Media& media) {
  return "[" + media.mime + ", " + std::to_string(media.bytes.size()) +
         " bytes: this model cannot see it]";
}

json::object arguments_object(const std::string& arguments) {
  auto parsed = codec::parse_object(arguments, codec::Empty::kIsObject);
  if (parsed) return *std::move(parsed);
  return {{"malformed", codec::text(arguments)}};
}

std::string arguments_text(const std::string& arguments) {
  if (codec::parse_object(arguments)) return arguments;
  return codec::write(arguments_object(arguments));
}

bool is_strict(const json::value& schema) {
  if (schema.is_array()) {
    return std::all_of(schema.get_array().begin(), schema.get_array().end(),
                       [](const json::value& one) { return is_strict(one); });
  }
  if (!schema.is_object()) return true;
  const json::object& in = schema.get_object();
  if (const json::value* type = in.if_contains("type");
      type != nullptr && type->is_string() && type->get_string() == "object") {
    const json::value* more = in.if_contains("additionalProperties");
    if (more == nullptr || !more->is_bool() || more->get_bool()) return false;
    const json::value* members = in.if_contains("properties");
    const json::value* required = in.if_contains("required");
    const std::size_t count =
        members != nullptr && members->is_object() ? members->get_object().size() : 0;
    const std::size_t needed =
        required != nullptr && required->is_array() ? required->get_array().size() : 0;
    if (count != needed) return false;
  }
  return std::all_of(in.begin(), in.end(),
                     [](const auto& member) { return is_strict(member.value()); });
}

}  // namespace cay::agent
