#include "api/common/source.h"

namespace cay::api {
namespace {

class Exactly : public ByteSource {
 public:
  Exactly(std::unique_ptr<ByteSource> inner, std::uint64_t length)
      : inner_(std::move(inner)), left_(length) {}
  Task<Bytes> next() override {
    if (left_ == 0) co_return Bytes();
    auto got = co_await inner_->next();
    if (!got) co_return std::move(got).error();
    if (got->empty()) {
      co_return Error{Code::kLost, "file_changed", "the file became shorter while it was read", 0};
    }
    if (got->size() > left_) got->resize(static_cast<std::size_t>(left_));
    left_ -= got->size();
    co_return *std::move(got);
  }

 private:
  std::unique_ptr<ByteSource> inner_;
  std::uint64_t left_;
};

}  // namespace

std::unique_ptr<ByteSource> exactly(std::unique_ptr<ByteSource> inner, std::uint64_t length) {
  return std::make_unique<Exactly>(std::move(inner), length);
}

}  // namespace cay::api
