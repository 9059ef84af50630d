#include "api/daytona/toolbox/lsp_frames.h"

#include <charconv>
#include <optional>

#include "api/daytona/toolbox/errors.h"
#include "base/ascii.h"

namespace cay::api::daytona {
namespace {

constexpr std::string_view kHeaderEnd = "\r\n\r\n";
constexpr std::string_view kLength = "content-length:";
constexpr std::size_t kMostHeader = 16 << 10;
constexpr std::size_t kMostMessage = 32 << 20;

std::optional<std::size_t> length_in(std::string_view header) {
  const std::string lower = lowered(header);
  const std::size_t at = lower.find(kLength);
  if (at == std::string::npos) return std::nullopt;
  const std::string_view value = trimmed(std::string_view(lower).substr(at + kLength.size()));
  std::size_t length = 0;
  const auto read = std::from_chars(value.data(), value.data() + value.size(), length);
  if (read.ec != std::errc() || length > kMostMessage) return std::nullopt;
  return length;
}

Error no_message() {
  return vendor_error(kBadRequest, "the language server writes no messages of its protocol");
}

}  // namespace

std::string lsp_frame(const codec::json::object& message) {
  const std::string content = codec::write(message);
  return "Content-Length: " + std::to_string(content.size()) + "\r\n\r\n" + content;
}

Result<std::optional<std::string>> LspFrames::next() {
  const std::size_t end = buffer_.find(kHeaderEnd);
  if (end == std::string::npos) {
    if (buffer_.size() > kMostHeader) return no_message();
    return std::optional<std::string>();
  }
  const auto length = length_in(std::string_view(buffer_).substr(0, end));
  if (!length) return no_message();
  const std::size_t begin = end + kHeaderEnd.size();
  if (buffer_.size() - begin < *length) return std::optional<std::string>();
  std::string content = buffer_.substr(begin, *length);
  buffer_.erase(0, begin + *length);
  return std::optional<std::string>(std::move(content));
}

}  // namespace cay::api::daytona
