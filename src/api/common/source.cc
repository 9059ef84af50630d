#include "api/common/source.h"

namespace cay::api {
namespace {

constexpr std::size_t kChunk = 64 * 1024;

class Memory : public ByteSource {
 public:
  explicit Memory(Bytes bytes) : bytes_(std::move(bytes)) {}
  Task<Bytes> next() override {
    Bytes out = bytes_.substr(at_, kChunk);
    at_ += out.size();
    co_return out;
  }

 private:
  Bytes bytes_;
  std::size_t at_ = 0;
};

class Exactly : public ByteSource {
 public:
  Exactly(std::unique_ptr<ByteSource> inner, std::uint64_t length) : inner_(std::move(inner)), left_(length) {}
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

std::unique_ptr<ByteSource> source_of(Bytes bytes) { return std::make_unique<Memory>(std::move(bytes)); }

std::unique_ptr<ByteSource> exactly(std::unique_ptr<ByteSource> inner, std::uint64_t length) {
  return std::make_unique<Exactly>(std::move(inner), length);
}

Task<Bytes> read_all(std::unique_ptr<ByteSource> source, std::uint64_t most) {
  auto head = co_await read_head(std::move(source), most);
  if (!head) co_return std::move(head).error();
  if (head->more) {
    co_return Error{Code::kInvalidArgument, "body_too_large", "more than " + std::to_string(most) + " bytes", 0};
  }
  co_return std::move(head->bytes);
}

Task<Head> read_head(std::unique_ptr<ByteSource> source, std::uint64_t most) {
  Head out;
  for (;;) {
    auto got = co_await source->next();
    if (!got) co_return std::move(got).error();
    if (got->empty()) co_return out;
    if (out.bytes.size() + got->size() > most) {
      out.bytes.append(*got, 0, static_cast<std::size_t>(most - out.bytes.size()));
      out.more = true;
      co_return out;
    }
    out.bytes += *got;
  }
}

}  // namespace cay::api
