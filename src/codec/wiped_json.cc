#include "codec/wiped_json.h"

#include <boost/json/memory_resource.hpp>
#include <boost/json/parser.hpp>
#include <boost/json/storage_ptr.hpp>

#include <cstddef>
#include <cstring>
#include <new>

#include "base/assert.h"
#include "base/wiped_memory.h"

namespace cay::codec {
namespace {

// The size stands before the memory: the one that a key is given back with is not the one that it
// was taken with (Boost 1.81).
class WipingResource final : public json::memory_resource {
  static constexpr std::size_t kHead = alignof(std::max_align_t);

  void* do_allocate(std::size_t size, std::size_t alignment) override {
    CAY_ASSERT(alignment <= kHead);
    auto* const begin = static_cast<char*>(::operator new(kHead + size));
    std::memcpy(begin, &size, sizeof size);
    return begin + kHead;
  }
  void do_deallocate(void* at, std::size_t, std::size_t) override {
    char* const begin = static_cast<char*>(at) - kHead;
    std::size_t size = 0;
    std::memcpy(&size, begin, sizeof size);
    wipe(begin, kHead + size);
    ::operator delete(begin);
  }
  bool do_is_equal(const json::memory_resource& other) const noexcept override {
    return this == &other;
  }
};

Error malformed(const std::string& what) {
  return {Code::kInvalidArgument, "malformed_json", "the body " + what, 0};
}

Result<json::object> parse_by(const json::storage_ptr& memory, std::string_view text) {
  json::parse_options options;
  options.max_depth = 32;  // as parse()
  // Not json::parse(), whose own memory while it works is nobody's to overwrite.
  json::parser parser(memory, options);
  parser.reset(memory);
  json::error_code failed;
  parser.write(json::string_view(text.data(), text.size()), failed);
  if (failed) return malformed("is not valid JSON: " + failed.message());
  json::value value = parser.release();
  if (!value.is_object()) return malformed("must be a JSON object");
  return std::move(value.get_object());
}

}  // namespace

Result<json::object> parse_wiped_object(std::string_view text, Empty empty) {
  if (text.empty() && empty == Empty::kIsObject) return json::object();
  auto out = parse_by(json::make_shared_resource<WipingResource>(), text);
  wipe_stack();  // strings with escapes are put together there
  return out;
}

}  // namespace cay::codec
