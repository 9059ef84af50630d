// An upload's multipart body, its boundary, and ranges. However the body is cut, it gives the same
// parts or a refusal.
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "api/common/multipart.h"
#include "api/common/ranges.h"
#include "base/assert.h"
#include "tests/fuzz/pieces.h"

namespace {

class Chunks final : public cay::ByteSource {
 public:
  explicit Chunks(cay::fuzz::Pieces bytes) : bytes_(bytes) {}
  cay::Task<cay::Bytes> next() override { co_return cay::Bytes(bytes_.next()); }

 private:
  cay::fuzz::Pieces bytes_;
};

struct Upload {
  bool whole = false;
  std::string parts;  // of each its name, its filename and its bytes
};

boost::asio::awaitable<void> read(cay::fuzz::Pieces body, Upload& out) {
  cay::api::MultipartReader reader("b", std::make_unique<Chunks>(body), {.parts = 5, .head = 200});
  for (;;) {
    auto part = co_await reader.next_part();
    if (!part) co_return;
    if (!part->has_value()) break;
    CAY_ASSERT((*part)->name.find_first_of("\r\n") == std::string::npos);
    out.parts += "\n" + (*part)->name + "\n" + (*part)->filename.value_or("-") + "\n" +
                 (*part)->content_type + "\n";
    for (;;) {
      auto bytes = co_await reader.next();
      if (!bytes) co_return;
      if (bytes->empty()) break;
      out.parts += *bytes;
    }
  }
  out.whole = true;
}

Upload upload_of(cay::fuzz::Pieces body) {
  static boost::asio::io_context loop(1);
  Upload out;
  loop.restart();
  boost::asio::co_spawn(loop, read(body, out),
                        [](const std::exception_ptr& failure) { CAY_ASSERT(failure == nullptr); });
  loop.run();
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view in(reinterpret_cast<const char*>(data) + 1, size - 1);
  constexpr std::uint64_t kSize = 1000;
  const auto range = cay::api::range_of(in, kSize);
  if (range.kind == cay::api::RangeKind::kPart)
    CAY_ASSERT(range.range.first <= range.range.last && range.range.last < kSize);
  static_cast<void>(cay::api::none_match_hits(in, "\"tag\""));
  cay::http::Headers headers;
  headers.add("Range", std::string(in));
  headers.add((data[0] & 1) != 0 ? "If-None-Match" : "If-Range", std::string(in));
  static_cast<void>(
      cay::api::wanted_of(headers, "\"tag\"", "Thu, 01 Jan 1970 00:00:00 GMT", kSize));
  if (const auto boundary = cay::api::boundary_of(in))
    CAY_ASSERT(!boundary->empty() && boundary->size() <= 70);
  const Upload whole = upload_of(cay::fuzz::Pieces(in));
  const Upload cut = upload_of(cay::fuzz::Pieces(in, data[0]));
  CAY_ASSERT(whole.whole == cut.whole);
  if (whole.whole) CAY_ASSERT(whole.parts == cut.parts);
  return 0;
}
