#include "api/native/written_file.h"

#include <utility>

#include "codec/base64.h"
#include "codec/model_json.h"
#include "codec/model_read.h"

namespace cay::api::native {

std::uint32_t mode_of(codec::Fields& fields, const std::string& text) {
  const auto mode = codec::mode_from(text);
  if (!mode && fields.ok()) fields.complain("mode", "must be octal: \"0644\"");
  return mode.value_or(0);
}

WrittenFile read_written_file(codec::Fields& fields, std::size_t limit) {
  WrittenFile out;
  if (!fields.read("path", out.path) && fields.ok()) fields.complain("path", "is needed");
  std::string coded;
  const bool plain = fields.read("content", out.bytes, limit);
  const bool base64 = fields.read("content_base64", coded, limit);
  if (fields.ok() && plain == base64)
    fields.complain("content", "give exactly one of content and content_base64");
  if (base64) {
    auto bytes = codec::from_base64(coded);
    if (!bytes) fields.complain("content_base64", "must be base64");
    out.bytes = std::move(bytes).value_or("");
  }
  std::string mode;
  if (fields.read("mode", mode)) {
    out.options.mode = mode_of(fields, mode);
    out.options.keep_mode = false;
  }
  return out;
}

}  // namespace cay::api::native
