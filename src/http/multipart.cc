#include "http/multipart.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/ascii.h"
#include "http/target.h"
#include "http/text.h"

namespace cay::http {
namespace {

constexpr std::size_t kMaxBoundary = 70;  // RFC 2046, section 5.1.1
constexpr std::string_view kLineEnd = "\r\n";
constexpr const char* kNoBoundary = "does not begin with its boundary";
constexpr const char* kLongHead = "has a part with too long a head";

Error bad_multipart(const std::string& what) {
  return {Code::kInvalidArgument, "bad_multipart", "the upload's multipart body " + what, 0};
}

// Reads a quoted string that begins at `text`, and removes it from there.
std::optional<std::string> take_quoted(std::string_view& text) {
  std::string out;
  for (std::size_t i = 1; i < text.size(); ++i) {
    if (text[i] == '"') {
      text.remove_prefix(i + 1);
      return out;
    }
    // A backslash before another character is itself: some clients send paths of Windows.
    const bool escape =
        text[i] == '\\' && i + 1 < text.size() && (text[i + 1] == '"' || text[i + 1] == '\\');
    out += text[escape ? ++i : i];
  }
  return std::nullopt;
}

using Parameters = std::vector<std::pair<std::string, std::string>>;

// Reads "; a=b; c=\"d\"". Names are in lower case. Nothing: malformed, or a name comes twice.
std::optional<Parameters> parameters_of(std::string_view text) {
  Parameters out;
  for (text = trimmed(text); !text.empty(); text = trimmed(text)) {
    if (text.front() != ';') return std::nullopt;
    text = trimmed(text.substr(1));
    if (text.empty()) break;
    const auto equals = text.find('=');
    if (equals == std::string_view::npos) return std::nullopt;
    const std::string name = lowered(trimmed(text.substr(0, equals)));
    if (!is_token(name)) return std::nullopt;
    for (const auto& known : out) {
      if (known.first == name) return std::nullopt;
    }
    text = trimmed(text.substr(equals + 1));
    std::string value;
    if (text.starts_with('"')) {
      auto quoted = take_quoted(text);
      if (!quoted) return std::nullopt;
      value = *std::move(quoted);
    } else {
      const auto end = std::min(text.find(';'), text.size());
      value = trimmed(text.substr(0, end));
      text.remove_prefix(end);
    }
    out.emplace_back(name, std::move(value));
  }
  return out;
}

std::optional<std::string> parameter_of(const Parameters& parameters, std::string_view name) {
  for (const auto& [known, value] : parameters) {
    if (known == name) return value;
  }
  return std::nullopt;
}

// Decodes "UTF-8'en'caf%C3%A9" (RFC 5987, section 3.2).
std::optional<std::string> decode_extended(std::string_view text) {
  const auto charset = text.find('\'');
  const auto language = charset == std::string_view::npos ? charset : text.find('\'', charset + 1);
  if (language == std::string_view::npos) return std::nullopt;
  if (!equals_ignoring_case(text.substr(0, charset), "utf-8")) return std::nullopt;
  return percent_decode(text.substr(language + 1), Plus::kLiteral);
}

// The value of `name` or, if there is one, of `name*`. `malformed` is set where it cannot be read.
std::optional<std::string> parameter_text(const Parameters& parameters, const std::string& name,
                                          bool& malformed) {
  auto value = parameter_of(parameters, name);
  if (const auto extended = parameter_of(parameters, name + "*")) {
    value = decode_extended(*extended);
    malformed = malformed || !value;
  }
  // No name of a field or of a file has these, and the next reader could stop at one.
  constexpr std::string_view kNever("\0\r\n", 3);
  malformed = malformed || (value && value->find_first_of(kNever) != std::string::npos);
  return value;
}

}  // namespace

std::optional<Part> parse_part_head(std::string_view head) {
  Part part;
  bool disposed = false;
  while (!head.empty()) {
    const auto end = std::min(head.find(kLineEnd), head.size());
    const std::string_view line = head.substr(0, end);
    head.remove_prefix(std::min(end + kLineEnd.size(), head.size()));
    const auto colon = line.find(':');
    if (colon == std::string_view::npos || !is_token(line.substr(0, colon))) return std::nullopt;
    const std::string_view name = line.substr(0, colon);
    const std::string_view value = trimmed(line.substr(colon + 1));
    if (equals_ignoring_case(name, "Content-Type")) part.content_type = value;
    if (!equals_ignoring_case(name, "Content-Disposition")) continue;
    const auto type = std::min(value.find(';'), value.size());
    const auto parameters = parameters_of(value.substr(type));
    const bool form = equals_ignoring_case(trimmed(value.substr(0, type)), "form-data");
    if (std::exchange(disposed, true) || !form || !parameters) return std::nullopt;
    bool malformed = false;
    const auto field = parameter_text(*parameters, "name", malformed);
    part.filename = parameter_text(*parameters, "filename", malformed);
    if (malformed || !field) return std::nullopt;
    part.name = *field;
  }
  return disposed ? std::optional(std::move(part)) : std::nullopt;
}

MultipartReader::MultipartReader(std::string boundary, std::unique_ptr<ByteSource> body,
                                 MultipartLimits limits)
    : delimiter_("\r\n--" + std::move(boundary)), body_(std::move(body)), limits_(limits) {}

Task<void> MultipartReader::more(const char* at_end) {
  CAY_CO_TRY(const Bytes chunk, co_await body_->next());
  if (chunk.empty()) co_return bad_multipart(at_end);
  buffer_ += chunk;
  co_return Result<void>();
}

Task<std::optional<Part>> MultipartReader::next_part() {
  if (at_ == At::kEnd) co_return std::optional<Part>();
  if (at_ == At::kPreamble) {
    CAY_CO_CHECK(co_await pass_preamble());
  }
  while (at_ == At::kContent) {
    CAY_CO_CHECK(co_await next());
  }
  CAY_CO_TRY(const bool is_last, co_await pass_delimiter());
  if (is_last) {
    at_ = At::kEnd;
    co_return std::optional<Part>();
  }
  if (++parts_ > limits_.parts)
    co_return bad_multipart("has more than " + std::to_string(limits_.parts) + " parts");
  CAY_CO_TRY(Part part, co_await pass_head());
  at_ = At::kContent;
  co_return std::optional<Part>(std::move(part));
}

Task<Bytes> MultipartReader::next() {
  if (at_ != At::kContent) co_return Bytes();
  for (;;) {
    const auto delimiter = buffer_.find(delimiter_);
    if (delimiter == 0) {
      at_ = At::kDelimiter;
      co_return Bytes();
    }
    // All before a delimiter, or all but what could be the beginning of one.
    const bool some = delimiter != std::string::npos || buffer_.size() >= delimiter_.size();
    if (some) {
      const auto sure =
          delimiter != std::string::npos ? delimiter : buffer_.size() - delimiter_.size() + 1;
      Bytes out = buffer_.substr(0, sure);
      buffer_.erase(0, sure);
      co_return out;
    }
    CAY_CO_CHECK(co_await more("ends before its closing delimiter"));
  }
}

// Leaves the first delimiter at the beginning of the buffer.
Task<void> MultipartReader::pass_preamble() {
  buffer_ = kLineEnd;  // the first delimiter may have no line before it
  std::size_t delimiter = 0;
  while ((delimiter = buffer_.find(delimiter_)) == std::string::npos) {
    if (buffer_.size() > limits_.head + delimiter_.size()) co_return bad_multipart(kNoBoundary);
    CAY_CO_CHECK(co_await more("has no part"));
  }
  if (delimiter > limits_.head) co_return bad_multipart(kNoBoundary);
  buffer_.erase(0, delimiter);
  at_ = At::kDelimiter;
  co_return Result<void>();
}

// Removes the delimiter and the spaces behind it. Returns true, at the end of the body, if it
// closes the last part. Else the line end of the delimiter is left.
Task<bool> MultipartReader::pass_delimiter() {
  constexpr std::size_t kMark = 2;  // "--" or a line end
  buffer_.erase(0, delimiter_.size());
  std::size_t spaces = 0;
  for (;;) {
    while (spaces < buffer_.size() && (buffer_[spaces] == ' ' || buffer_[spaces] == '\t')) ++spaces;
    if (spaces > limits_.head) co_return bad_multipart("has a malformed delimiter");
    if (buffer_.size() >= spaces + kMark) break;
    CAY_CO_CHECK(co_await more("ends inside its closing delimiter"));
  }
  const std::string_view mark = std::string_view(buffer_).substr(spaces, kMark);
  if (mark == kLineEnd) {
    buffer_.erase(0, spaces);
    co_return false;
  }
  if (mark != "--" || spaces > 0) co_return bad_multipart("has a malformed delimiter");
  for (;;) {  // the epilogue, which has no meaning
    CAY_CO_TRY(const Bytes rest, co_await body_->next());
    if (rest.empty()) co_return true;
  }
}

// Removes the headers, and leaves the content. The delimiter of an empty part may begin with the
// last line end of its headers.
Task<Part> MultipartReader::pass_head() {
  constexpr std::string_view kEmptyLine = "\r\n\r\n";
  std::size_t end = 0;
  while ((end = buffer_.find(kEmptyLine)) == std::string::npos) {
    if (buffer_.size() > limits_.head + kEmptyLine.size()) co_return bad_multipart(kLongHead);
    CAY_CO_CHECK(co_await more("ends inside a part's head"));
  }
  if (end > limits_.head) co_return bad_multipart(kLongHead);
  const std::string_view text = std::string_view(buffer_).substr(0, end);
  auto part = parse_part_head(text.substr(std::min(kLineEnd.size(), text.size())));
  if (!part) co_return bad_multipart("has a part with a malformed head");
  buffer_.erase(0, end + kLineEnd.size());
  while (buffer_.size() < delimiter_.size()) {
    CAY_CO_CHECK(co_await more("ends before its closing delimiter"));
  }
  if (!buffer_.starts_with(delimiter_)) buffer_.erase(0, kLineEnd.size());
  co_return *std::move(part);
}

std::optional<std::string> boundary_of(std::string_view content_type) {
  const auto type = std::min(content_type.find(';'), content_type.size());
  if (!equals_ignoring_case(trimmed(content_type.substr(0, type)), "multipart/form-data"))
    return std::nullopt;
  const auto parameters = parameters_of(content_type.substr(type));
  auto boundary = parameters ? parameter_of(*parameters, "boundary") : std::nullopt;
  if (!boundary || boundary->empty() || boundary->size() > kMaxBoundary ||
      boundary->find_first_of(kLineEnd) != std::string::npos) {
    return std::nullopt;
  }
  return boundary;
}

}  // namespace cay::http
