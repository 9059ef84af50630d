// Requests and answers as JSON: whatever the bytes, an error or a value.
#include <cstddef>
#include <cstdint>

#include "base/assert.h"
#include "codec/model_json.h"
#include "codec/model_read.h"
#include "codec/utf8.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace cay::codec;
  const std::string_view in(reinterpret_cast<const char*>(data), size);
  static_cast<void>(error_from(in));
  if (const auto signal = signal_from(in)) CAY_ASSERT(*signal >= 0 && *signal <= 64);
  if (const auto mode = mode_from(in)) CAY_ASSERT(*mode <= 07777);
  static_cast<void>(code_from(in));
  static_cast<void>(command_state_from(in));
  CAY_ASSERT(is_utf8(write(json::value(text(in)))));
  CAY_ASSERT(parse_object("", Empty::kIsObject) && !parse_object(""));
  static_cast<void>(parse_object(in));
  const auto value = parse(in);
  if (!value) return 0;
  CAY_ASSERT(is_utf8(write(*value)));
  static_cast<void>(sandbox_from(*value));
  static_cast<void>(command_from(*value));
  static_cast<void>(file_info_from(*value));
  const auto* object = value->if_object();
  if (object == nullptr) return 0;
  static_cast<void>(snapshot_from(*value));
  Fields words(*object);
  static_cast<void>(read_pty_size(words));
  const int signal = read_signal(words);
  CAY_ASSERT(signal >= 0 && signal <= 64);
  static_cast<void>(words.first_error());
  static_cast<void>(read_create(*object));
  static_cast<void>(read_patch(*object));
  Fields fields(*object);
  CommandRequest request;
  read_command_request(fields, request);
  fields.refuse_unknown();
  if (fields.ok()) CAY_ASSERT(!request.spec.argv.empty());
  return 0;
}
