// The results of tools: content for people and models, and the same as JSON for programs.
#pragma once
#include <string>
#include <string_view>

#include "base/error.h"
#include "codec/json.h"

namespace cay::api::mcp {

namespace json = codec::json;

// `text` may be any bytes: invalid UTF-8 becomes U+FFFD.
json::object text_result(std::string_view text, json::object structured);
// The command of the caller failed: its output is the content.
json::object failed_result(std::string_view text, json::object structured);
// Cay could not do it: reason, message and remedy as the native API has them, in member "error".
json::object error_result(const Error& error);
// Whether models can see an image of this media type.
bool is_image(std::string_view mime);
json::object image_result(std::string_view mime, std::string_view bytes, json::object structured);
// Bytes that are neither text nor an image.
json::object blob_result(std::string_view uri, std::string_view bytes, json::object structured);

}  // namespace cay::api::mcp
