// An uploaded archive: names stay below their directory, contents are as long as their heads
// declare, and nothing exceeds the limits.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "archive/tar_parser.h"
#include "base/assert.h"
#include "tests/fuzz/pieces.h"
#include "tests/fuzz/tar_sums.h"

namespace {

using namespace cay;

class Archive final : public cay::archive::ParserSide {
 public:
  Archive(cay::fuzz::Pieces bytes, const cay::archive::TarLimits& limits)
      : bytes_(bytes), limits_(limits) {}
  ~Archive() override = default;

  std::optional<std::string> pull() override { return std::string(bytes_.next()); }
  bool push(cay::archive::TarEvent event) override {
    if (const auto* bytes = std::get_if<std::string>(&event)) {
      CAY_ASSERT(bytes->size() <= left_);
      left_ -= bytes->size();
      return true;
    }
    const FileInfo& info = std::get<FileInfo>(event);
    CAY_ASSERT(left_ == 0);
    const std::string path = "/" + info.path + "/";
    CAY_ASSERT(path.find("/../") == std::string::npos && path.find("/./") == std::string::npos &&
               path.find('\0') == std::string::npos);
    CAY_ASSERT(!info.path.starts_with('/') && info.path.size() <= limits_.path_bytes &&
               (info.mode & ~01777u) == 0);
    CAY_ASSERT(static_cast<std::size_t>(std::count(path.begin(), path.end(), '/')) <=
               limits_.depth + 1);
    CAY_ASSERT(info.kind != FileKind::kSymlink || !info.target.empty());
    CAY_ASSERT(++entries_ <= limits_.entries);
    left_ = info.kind == FileKind::kFile ? info.size : 0;
    total_ += left_;
    CAY_ASSERT(total_ <= limits_.bytes);
    return ++pushed_ != 40;  // then its reader goes away
  }
  void expect_whole() const { CAY_ASSERT(left_ == 0); }

 private:
  cay::fuzz::Pieces bytes_;
  cay::archive::TarLimits limits_;
  std::uint64_t left_ = 0, total_ = 0, entries_ = 0;
  int pushed_ = 0;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  cay::archive::TarLimits limits;
  limits.entries = 20;
  limits.bytes = 1 << 20;
  limits.path_bytes = 200;
  limits.depth = 20;
  limits.header_bytes = 4096;
  const std::string_view in(reinterpret_cast<const char*>(data) + 1, size - 1);
  const std::string mended = (data[0] & 1) == 0 ? cay::fuzz::with_tar_sums(in) : std::string(in);
  Archive archive(cay::fuzz::Pieces(mended, data[0]), limits);
  const auto parsed = cay::archive::parse_tar(archive, limits);
  if (parsed) archive.expect_whole();
  return 0;
}
