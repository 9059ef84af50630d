#include "api/common/request_body.h"

#include <zlib.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "base/ascii.h"
#include "base/assert.h"
#include "base/wiped_memory.h"

namespace cay::api {
namespace {

constexpr std::size_t kInflatedPiece = 64 * 1024;
constexpr int kGzipAlone = 15 + 16;  // zlib.h, inflateInit2: the largest window, and no zlib header
// Compression adds less than this to a body that it cannot make smaller.
constexpr std::size_t kOverhead = 4096;

Error bad_encoding(std::string message) { return invalid("bad_encoding", std::move(message)); }

Error too_large(std::size_t limit) {
  return invalid("body_too_large",
                 "the request's body is longer than " + std::to_string(limit) + " bytes");
}

// zlib's memory holds the last 32 KiB of what it gave, which may be a secret. Each block remembers
// its size, so that it can be overwritten.
constexpr std::size_t kSizeRoom = alignof(std::max_align_t);

voidpf take_memory(voidpf, uInt items, uInt size) {
  const std::size_t bytes = kSizeRoom + std::size_t{items} * size;
  void* block = std::malloc(bytes);
  if (block == nullptr) return nullptr;
  *static_cast<std::size_t*>(block) = bytes;
  return static_cast<char*>(block) + kSizeRoom;
}

void give_memory(voidpf, voidpf memory) {
  void* block = static_cast<char*>(memory) - kSizeRoom;
  wipe(block, *static_cast<std::size_t*>(block));
  std::free(block);
}

class Gunzipped final : public ByteSource {
 public:
  explicit Gunzipped(std::unique_ptr<ByteSource> compressed) : compressed_(std::move(compressed)) {
    stream_.zalloc = take_memory;
    stream_.zfree = give_memory;
    CAY_ASSERT(inflateInit2(&stream_, kGzipAlone) == Z_OK);
  }
  ~Gunzipped() override { inflateEnd(&stream_); }
  Gunzipped(const Gunzipped&) = delete;
  Gunzipped& operator=(const Gunzipped&) = delete;

  Task<Bytes> next() override {
    for (;;) {
      if (stream_.avail_in == 0) {
        CAY_CO_TRY(input_, co_await compressed_->next());
        if (input_.empty()) {
          if (between_members_) co_return Bytes();
          co_return bad_encoding("the request's gzip body ends before its end");
        }
        stream_.next_in = reinterpret_cast<Bytef*>(input_.data());
        stream_.avail_in = static_cast<uInt>(input_.size());
      }
      if (std::exchange(between_members_, false)) inflateReset(&stream_);
      CAY_CO_TRY(Bytes out, inflate_some());
      if (!out.empty()) co_return out;
    }
  }

 private:
  Result<Bytes> inflate_some() {
    Bytes out(kInflatedPiece, '\0');
    stream_.next_out = reinterpret_cast<Bytef*>(out.data());
    stream_.avail_out = static_cast<uInt>(out.size());
    const int result = inflate(&stream_, Z_NO_FLUSH);
    between_members_ = result == Z_STREAM_END;
    if (result != Z_OK && result != Z_STREAM_END && result != Z_BUF_ERROR)
      return bad_encoding("the request's body is not gzip, as its Content-Encoding states");
    out.resize(out.size() - stream_.avail_out);
    return out;
  }

  std::unique_ptr<ByteSource> compressed_;
  Bytes input_;
  z_stream stream_{};
  bool between_members_ = true;  // no byte of a member has come, or the last one has
};

// Counts what comes through, and fails when it is more than `most`.
class AtMost final : public ByteSource {
 public:
  AtMost(std::unique_ptr<ByteSource> inner, std::size_t most, Error error)
      : inner_(std::move(inner)), left_(most), error_(std::move(error)) {}

  Task<Bytes> next() override {
    CAY_CO_TRY(Bytes bytes, co_await inner_->next());
    if (bytes.size() > left_) co_return error_;
    left_ -= bytes.size();
    co_return bytes;
  }

 private:
  std::unique_ptr<ByteSource> inner_;
  std::size_t left_;
  Error error_;
};

// A string that grew by itself would leave what it held where it was.
void append_wiped(Wiped& all, std::string_view piece) {
  const std::size_t needed = all.bytes().size() + piece.size();
  if (needed > all.bytes().capacity()) {
    std::string wider;
    wider.reserve(std::max(needed, 2 * all.bytes().size()));
    wider.append(all.bytes());
    all = Wiped(std::move(wider));
  }
  all.bytes().append(piece);
}

}  // namespace

std::unique_ptr<ByteSource> gunzipped(std::unique_ptr<ByteSource> compressed) {
  return std::make_unique<Gunzipped>(std::move(compressed));
}

Task<std::string> read_request_body(ExchangePtr exchange, std::size_t limit) {
  const auto encoding = trimmed(exchange->head().headers.get("Content-Encoding").value_or(""));
  if (encoding.empty() || equals_ignoring_case(encoding, "identity")) {
    auto plain = co_await exchange->read_body(limit);
    co_return plain;
  }
  if (!equals_ignoring_case(encoding, "gzip"))
    co_return bad_encoding("a request's body may have Content-Encoding: gzip, and no other");
  auto compressed = std::make_unique<AtMost>(exchange->body(), limit + kOverhead, too_large(limit));
  const auto source = gunzipped(std::move(compressed));
  Wiped all;
  for (;;) {
    CAY_CO_TRY(Bytes bytes, co_await source->next());
    const Wiped piece(std::move(bytes));
    if (piece.view().empty()) break;
    if (all.bytes().size() + piece.view().size() > limit) co_return too_large(limit);
    append_wiped(all, piece.view());
  }
  co_return std::move(all.bytes());
}

}  // namespace cay::api
