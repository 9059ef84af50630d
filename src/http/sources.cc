// Helpers for bodies and targets that client.h offers.
#include <utility>

#include "http/client.h"

namespace cay::http {

namespace {
class TextSource final : public ByteSource {
 public:
  explicit TextSource(std::string text) : text_(std::move(text)) {}
  Task<Bytes> next() override {
    constexpr std::size_t kPiece = 64 * 1024;
    auto piece = text_.substr(at_, kPiece);
    at_ += piece.size();
    co_return piece;
  }

 private:
  std::string text_;
  std::size_t at_ = 0;
};
}  // namespace

std::unique_ptr<ByteSource> text_source(std::string text) { return std::make_unique<TextSource>(std::move(text)); }

Task<std::string> read_all(std::unique_ptr<ByteSource> source, std::size_t limit) {
  std::string all;
  for (;;) {
    auto piece = co_await source->next();
    if (!piece) co_return std::move(piece).error();
    if (piece->empty()) co_return all;
    if (piece->size() > limit - all.size()) {
      co_return Error{Code::kInvalidArgument, "body_too_large",
                      "the body has more than " + std::to_string(limit) + " bytes", 0};
    }
    all.append(*piece);
  }
}

std::string encode_segment(std::string_view text) {
  constexpr std::string_view kHex = "0123456789ABCDEF";
  std::string out;
  for (char c : text) {
    const bool alnum = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (alnum || c == '-' || c == '.' || c == '_' || c == '~') {
      out += c;
      continue;
    }
    const auto u = static_cast<unsigned char>(c);
    out += '%';
    out += kHex[u >> 4];
    out += kHex[u & 15];
  }
  return out;
}

}  // namespace cay::http
