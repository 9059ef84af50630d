#include "api/langsmith/multipart.h"

#include "base/ascii.h"

namespace cay::api::langsmith {
namespace {

constexpr std::size_t kMaxBoundary = 70;  // RFC 2046, section 5.1.1
constexpr std::size_t kMaxPartHead = 16 * 1024;

Error bad(const char* what) {
  return {Code::kInvalidArgument, "bad_multipart",
          std::string("the upload's multipart body ") + what, 0};
}

// Returns whether the part's head names the field "file".
bool is_file_part(std::string_view head) {
  while (!head.empty()) {
    const auto end = head.find("\r\n");
    const std::string line = lowered(head.substr(0, end));
    head = end == std::string_view::npos ? std::string_view() : head.substr(end + 2);
    if (line.rfind("content-disposition:", 0) != 0) continue;
    return line.find("form-data") != std::string::npos &&
           (line.find("; name=\"file\"") != std::string::npos ||
            line.find(";name=\"file\"") != std::string::npos ||
            line.find("; name=file;") != std::string::npos);
  }
  return false;
}

class MultipartFile final : public ByteSource {
 public:
  MultipartFile(std::string boundary, std::unique_ptr<ByteSource> body)
      : delimiter_("\r\n--" + std::move(boundary)), body_(std::move(body)) {}

  Task<Bytes> next() override {
    if (done_) co_return Bytes();
    if (!in_file_) {
      CAY_CO_CHECK(co_await enter());
    }
    while (true) {
      const auto at = buffer_.find(delimiter_);
      if (at != std::string::npos) {
        Bytes out = buffer_.substr(0, at);
        buffer_.erase(0, at + delimiter_.size());
        if (out.empty()) {
          CAY_CO_CHECK(co_await close());
          co_return Bytes();
        }
        buffer_.insert(0, delimiter_);  // found again, empty, by the next call
        co_return out;
      }
      if (buffer_.size() >= delimiter_.size()) {
        // All but what could be the delimiter's beginning.
        const std::size_t sure = buffer_.size() - delimiter_.size() + 1;
        Bytes out = buffer_.substr(0, sure);
        buffer_.erase(0, sure);
        co_return out;
      }
      CAY_CO_CHECK(co_await more("ends before its closing delimiter"));
    }
  }

 private:
  Task<void> more(const char* at_end) {
    CAY_CO_TRY(Bytes chunk, co_await body_->next());
    if (chunk.empty()) co_return bad(at_end);
    buffer_ += chunk;
    co_return Result<void>();
  }

  // Past the first delimiter and the part's head.
  Task<void> enter() {
    buffer_ = "\r\n";  // the first delimiter has no line before it
    std::size_t at = 0;
    while ((at = buffer_.find(delimiter_)) == std::string::npos) {
      if (buffer_.size() > kMaxPartHead) co_return bad("does not begin with its boundary");
      CAY_CO_CHECK(co_await more("has no part"));
    }
    std::size_t end = 0;
    while ((end = buffer_.find("\r\n\r\n", at)) == std::string::npos) {
      if (buffer_.size() - at > kMaxPartHead) co_return bad("has a part with too long a head");
      CAY_CO_CHECK(co_await more("ends inside a part's head"));
    }
    const std::size_t head = at + delimiter_.size();
    if (!is_file_part(std::string_view(buffer_).substr(head, end - head))) {
      co_return bad("must have one part, named \"file\"");
    }
    // The delimiter of an empty file begins with the head's own last line end.
    buffer_.erase(0, end + 2);
    in_file_ = true;
    if (buffer_.rfind(delimiter_, 0) != 0) {
      while (buffer_.size() < delimiter_.size()) {
        CAY_CO_CHECK(co_await more("ends before its closing delimiter"));
      }
      if (buffer_.rfind(delimiter_, 0) != 0) buffer_.erase(0, 2);
    }
    co_return Result<void>();
  }

  // After the file's delimiter: the end, and nothing else of weight.
  Task<void> close() {
    while (buffer_.size() < 2) {
      CAY_CO_CHECK(co_await more("ends inside its closing delimiter"));
    }
    if (buffer_.compare(0, 2, "--") != 0) co_return bad("has more than one part");
    done_ = true;
    while (true) {  // the epilogue, which has no meaning
      CAY_CO_TRY(const Bytes rest, co_await body_->next());
      if (rest.empty()) break;
    }
    co_return Result<void>();
  }

  std::string delimiter_;
  std::unique_ptr<ByteSource> body_;
  std::string buffer_;
  bool in_file_ = false;
  bool done_ = false;
};

}  // namespace

std::optional<std::string> boundary_of(std::string_view content_type) {
  const std::string folded = lowered(content_type);
  if (folded.rfind("multipart/form-data", 0) != 0) return std::nullopt;
  const auto at = folded.find("boundary=");
  if (at == std::string::npos) return std::nullopt;
  std::string_view value = content_type.substr(at + 9);
  if (!value.empty() && value.front() == '"') {
    const auto end = value.find('"', 1);
    if (end == std::string_view::npos) return std::nullopt;
    value = value.substr(1, end - 1);
  } else {
    value = value.substr(0, value.find(';'));
    while (!value.empty() && value.back() == ' ') value.remove_suffix(1);
  }
  if (value.empty() || value.size() > kMaxBoundary ||
      value.find_first_of("\r\n") != std::string_view::npos)
    return std::nullopt;
  return std::string(value);
}

std::unique_ptr<ByteSource> multipart_file(std::string boundary, std::unique_ptr<ByteSource> body) {
  return std::make_unique<MultipartFile>(std::move(boundary), std::move(body));
}

}  // namespace cay::api::langsmith
