#include "api/common/source.h"

#include "async/piped.h"

namespace cay::api {
namespace {

class Exactly final : public PipedSource {
 public:
  Exactly(std::unique_ptr<ByteSource> inner, std::uint64_t length)
      : inner_(std::move(inner)), piped_(dynamic_cast<PipedSource*>(inner_.get())), left_(length) {}
  Task<Bytes> next() override {
    if (left_ == 0) co_return Bytes();
    auto got = co_await inner_->next();
    if (!got) co_return std::move(got).error();
    if (got->empty()) co_return shrank();
    if (got->size() > left_) got->resize(static_cast<std::size_t>(left_));
    left_ -= got->size();
    co_return *std::move(got);
  }
  std::optional<Bytes> come() override { return std::nullopt; }
  bool can_splice() const override {
    return left_ > 0 && piped_ != nullptr && piped_->can_splice();
  }
  Task<KernelPipe> next_piped() override {
    auto got = co_await piped_->next_piped();
    if (!got) co_return std::move(got).error();
    // A pipe gives its bytes whole. The helper pipes a file that grew as long as it was.
    if (got->empty() || got->size() > left_) co_return shrank();
    left_ -= got->size();
    co_return *std::move(got);
  }

 private:
  static Error shrank() {
    return {Code::kLost, "file_changed", "the file became shorter while it was read", 0};
  }

  std::unique_ptr<ByteSource> inner_;
  PipedSource* piped_;  // the same; null: it is none
  std::uint64_t left_;
};

}  // namespace

std::unique_ptr<ByteSource> exactly(std::unique_ptr<ByteSource> inner, std::uint64_t length) {
  return std::make_unique<Exactly>(std::move(inner), length);
}

}  // namespace cay::api
