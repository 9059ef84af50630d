#include "codec/json.h"

#include <boost/json/monotonic_resource.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <utility>

#include "codec/utf8.h"

namespace cay::codec {

Result<json::value> parse(std::string_view text, json::storage_ptr memory) {
  constexpr std::size_t kMaxDepth = 32;
  json::parse_options options;
  options.max_depth = kMaxDepth;
  json::error_code failed;
  auto value =
      json::parse(json::string_view(text.data(), text.size()), failed, std::move(memory), options);
  if (failed) {
    return Error{Code::kInvalidArgument, "malformed_json",
                 "the body is not valid JSON: " + failed.message(), 0};
  }
  return value;
}

Result<json::object> parse_object(std::string_view text, Empty empty, json::storage_ptr memory) {
  if (text.empty() && empty == Empty::kIsObject) return json::object();
  CAY_TRY(auto value, parse(text, std::move(memory)));
  if (!value.is_object()) {
    return Error{Code::kInvalidArgument, "malformed_json", "the body must be a JSON object", 0};
  }
  return std::move(value.get_object());
}

std::string write(const json::value& value) { return json::serialize(value); }
std::string write(const json::object& object) { return json::serialize(object); }

json::storage_ptr of_one_tree() { return json::make_shared_resource<json::monotonic_resource>(); }

json::string text(std::string_view bytes) {
  if (is_utf8(bytes)) return json::string(bytes);
  return json::string(sanitised_utf8(bytes));
}

}  // namespace cay::codec
