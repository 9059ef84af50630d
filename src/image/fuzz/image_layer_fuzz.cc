// A layer of an image: paths stay below the root, contents are as long as their heads declare, and
// nothing exceeds the limits.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/assert.h"
#include "image/layer_reader.h"
#include "tests/fuzz/pieces.h"
#include "tests/fuzz/tar_sums.h"

namespace {

using namespace cay;

void expect_inside(const std::string& path) {
  const std::string whole = "/" + path + "/";
  CAY_ASSERT(!path.empty() && !path.starts_with('/') && whole.find("/../") == std::string::npos &&
             whole.find("/./") == std::string::npos && path.find('\0') == std::string::npos);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  image::LayerLimits limits;
  limits.bytes = 64 << 10;
  limits.entries = 20;
  limits.header_bytes = 4096;
  const std::string_view in(reinterpret_cast<const char*>(data) + 1, size - 1);
  const std::string mended = (data[0] & 1) == 0 ? cay::fuzz::with_tar_sums(in) : std::string(in);
  cay::fuzz::Pieces pieces(mended, data[0]);
  image::LayerReader reader([&]() -> Result<std::string> { return std::string(pieces.next()); }, "",
                            limits);
  std::uint64_t left = 0;
  for (;;) {
    const auto event = reader.next();
    if (!event) {
      CAY_ASSERT(event.error().reason == "bad_layer");
      break;
    }
    if (!*event) {
      CAY_ASSERT(left == 0);
      break;
    }
    if (const auto* bytes = std::get_if<std::string>(&**event)) {
      CAY_ASSERT(!bytes->empty() && bytes->size() <= left);
      left -= bytes->size();
      continue;
    }
    const auto& entry = std::get<core::LayerEntry>(**event);
    CAY_ASSERT(left == 0);
    expect_inside(entry.path);
    if (entry.kind == core::EntryKind::kHardLink) expect_inside(entry.target);
    CAY_ASSERT((entry.mode & ~07777U) == 0);
    left = entry.kind == core::EntryKind::kFile ? entry.size : 0;
    CAY_ASSERT(left <= limits.bytes);
  }
  return 0;
}
