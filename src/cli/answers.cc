#include "cli/answers.h"

#include <vector>

#include "cli/render.h"
#include "http/client.h"

namespace cay::cli {

namespace json = codec::json;

json::object parsed(const std::string& body) {
  auto got = codec::parse_object(body);
  if (!got)
    throw ApiError(ErrorCode::kInternal, "unexpected_answer",
                   "the server's answer is not Cay's: " + got.error().message);
  return *std::move(got);
}

std::string text_of(const json::object& from, const char* name) {
  const auto* value = from.if_contains(name);
  if (value == nullptr || value->is_null()) return {};
  return value->is_string() ? std::string(value->get_string()) : codec::write(*value);
}

std::string items_as_json(const json::object& answer) {
  std::vector<std::string> texts;
  for (const auto& item : answer.at("items").as_array()) texts.push_back(codec::write(item));
  return json_array(texts);
}

}  // namespace cay::cli
