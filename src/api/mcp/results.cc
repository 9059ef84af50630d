#include "api/mcp/results.h"

#include <utility>

#include "api/common/answer.h"
#include "codec/base64.h"
#include "codec/model_json.h"

namespace cay::api::mcp {
namespace {

json::object result_of(json::object content, json::object structured, bool failed) {
  return {{"content", json::array{std::move(content)}},
          {"structuredContent", std::move(structured)},
          {"isError", failed}};
}

json::object text_content(std::string_view text) {
  return {{"type", "text"}, {"text", codec::text(text)}};
}

}  // namespace

json::object text_result(std::string_view text, json::object structured) {
  return result_of(text_content(text), std::move(structured), false);
}

json::object failed_result(std::string_view text, json::object structured) {
  return result_of(text_content(text), std::move(structured), true);
}

json::object error_result(const Error& error) {
  json::object body = codec::to_json(error, note_error(error));
  std::string text = "Cay: " + error.message + " (" + error.reason + ")";
  if (const json::value* remedy = body.if_contains("remedy"); remedy != nullptr) {
    const json::string& words = remedy->as_string();
    text += "\n" + std::string(words.data(), words.size());
  }
  return failed_result(text, {{"error", std::move(body)}});
}

bool is_image(std::string_view mime) {
  return mime == "image/png" || mime == "image/jpeg" || mime == "image/gif" || mime == "image/webp";
}

json::object image_result(std::string_view mime, std::string_view bytes, json::object structured) {
  return result_of({{"type", "image"}, {"data", codec::base64(bytes)}, {"mimeType", mime}},
                   std::move(structured), false);
}

json::object blob_result(std::string_view uri, std::string_view bytes, json::object structured) {
  json::object resource{
      {"uri", uri}, {"mimeType", "application/octet-stream"}, {"blob", codec::base64(bytes)}};
  return result_of({{"type", "resource"}, {"resource", std::move(resource)}}, std::move(structured),
                   false);
}

}  // namespace cay::api::mcp
