#include "api/daytona/toolbox/part_source.h"

#include <utility>

#include "api/daytona/toolbox/errors.h"

namespace cay::api::daytona {
namespace {

class PartSource final : public ByteSource {
 public:
  PartSource(std::shared_ptr<MultipartReader> parts, PartEnd end)
      : parts_(std::move(parts)), end_(end) {}

  Task<Bytes> next() override {
    CAY_CO_TRY(Bytes bytes, co_await parts_->next());
    if (!bytes.empty() || end_ == PartEnd::kMore) co_return bytes;
    for (;;) {
      CAY_CO_TRY(const auto another, co_await parts_->next_part());
      if (!another) co_return Bytes();
    }
  }

 private:
  std::shared_ptr<MultipartReader> parts_;
  const PartEnd end_;
};

}  // namespace

std::unique_ptr<ByteSource> part_source(std::shared_ptr<MultipartReader> parts, PartEnd end) {
  return std::make_unique<PartSource>(std::move(parts), end);
}

Task<std::string> read_part(std::shared_ptr<MultipartReader> parts, std::size_t most) {
  std::string out;
  for (;;) {
    CAY_CO_TRY(const Bytes bytes, co_await parts->next());
    if (bytes.empty()) co_return out;
    if (out.size() + bytes.size() > most)
      co_return vendor_error(kBadRequest, "a field of the form is too long");
    out += bytes;
  }
}

}  // namespace cay::api::daytona
