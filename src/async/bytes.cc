#include "async/bytes.h"

namespace cay {
namespace {

constexpr std::size_t kChunk = 64 * 1024;

class Memory final : public ByteSource {
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

}  // namespace

std::unique_ptr<ByteSource> source_of(Bytes bytes) {
  return std::make_unique<Memory>(std::move(bytes));
}

Task<Bytes> read_all(std::unique_ptr<ByteSource> source, std::uint64_t most) {
  auto head = co_await read_head(std::move(source), most);
  if (!head) co_return std::move(head).error();
  if (head->more) {
    co_return Error{Code::kInvalidArgument, "body_too_large",
                    "the body is longer than " + std::to_string(most) + " bytes", 0};
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

}  // namespace cay
