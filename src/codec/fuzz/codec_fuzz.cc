// Requests and answers as JSON, base64, times and UTF-8: whatever the bytes, an error or a value.
#include <cstddef>
#include <cstdint>

#include "base/assert.h"
#include "codec/base64.h"
#include "codec/model_json.h"
#include "codec/model_read.h"
#include "codec/time.h"
#include "codec/utf8.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace cay::codec;
  const std::string_view in(reinterpret_cast<const char*>(data), size);
  const std::string clean = sanitised_utf8(in);
  CAY_ASSERT(is_utf8(clean));
  CAY_ASSERT(!is_utf8(in) || clean == in);
  if (const auto bytes = from_base64(in)) CAY_ASSERT(base64(*bytes) == in);
  if (const auto time = from_rfc3339(in)) static_cast<void>(rfc3339(*time));
  static_cast<void>(error_from(in));
  const auto value = parse(in);
  if (!value) return 0;
  CAY_ASSERT(is_utf8(write(*value)));
  static_cast<void>(sandbox_from(*value));
  static_cast<void>(command_from(*value));
  static_cast<void>(file_info_from(*value));
  const auto* object = value->if_object();
  if (object == nullptr) return 0;
  static_cast<void>(read_create(*object));
  static_cast<void>(read_patch(*object));
  Fields fields(*object);
  CommandRequest request;
  read_command_request(fields, request);
  fields.refuse_unknown();
  if (fields.ok()) CAY_ASSERT(!request.spec.argv.empty());
  return 0;
}
