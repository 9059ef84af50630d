#include "api/daytona/toolbox/mux.h"

#include <algorithm>
#include <charconv>

#include "base/ascii.h"
#include "http/text.h"

namespace cay::api::daytona {
namespace {

constexpr std::string_view kVersionHeader = "X-Daytona-SDK-Version";
constexpr std::string_view kVersionProtocol = "X-Daytona-SDK-Version~";
constexpr int kFirstWithMarks = 27;  // 0.27
constexpr int kFirstWithJson = 167;  // 0.167

// Takes a number and the dot behind it off the text.
std::optional<int> next_number(std::string_view& text) {
  int number = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  if (read.ec != std::errc() || number < 0) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(read.ptr - text.data()));
  if (text.starts_with('.')) text.remove_prefix(1);
  return number;
}

}  // namespace

std::string MuxWriter::add(Stream stream, std::string_view text) {
  const std::string_view mark = stream == Stream::kStdout ? kStdoutMark : kStderrMark;
  std::string out;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::size_t size = end == std::string_view::npos ? text.size() : end + 1;
    if (begins_line_ || last_ != stream) out += mark;
    out += text.substr(0, size);
    last_ = stream;
    begins_line_ = end != std::string_view::npos;
    text.remove_prefix(size);
  }
  return out;
}

LogForm log_form_of_version(std::string_view version) {
  if (version.starts_with('v')) version.remove_prefix(1);
  const auto major = next_number(version);
  const auto minor = major ? next_number(version) : std::nullopt;
  if (!minor) return LogForm::kPlain;
  const auto patch = next_number(version);
  const bool is_zero = *major == 0 && *minor == 0 && patch.value_or(0) == 0;
  if (*major > 0 || is_zero || *minor >= kFirstWithJson) return LogForm::kJson;
  return *minor >= kFirstWithMarks ? LogForm::kMarks : LogForm::kPlain;
}

std::optional<std::string> offered_protocol(const http::RequestHead& head, std::string_view front) {
  for (const auto& [name, value] : head.headers.items()) {
    if (!equals_ignoring_case(name, "Sec-WebSocket-Protocol")) continue;
    for (const std::string_view one : http::split_list(value)) {
      if (one.starts_with(front)) return std::string(one);
    }
  }
  return std::nullopt;
}

LogForm log_form_of(const http::RequestHead& head) {
  std::string version(head.headers.get(kVersionHeader).value_or(""));
  if (version.empty()) {
    const auto offered = offered_protocol(head, kVersionProtocol);
    if (offered) version = offered->substr(kVersionProtocol.size());
  }
  const LogForm form = log_form_of_version(version);
  const bool splits = head.headers.get("X-Daytona-Split-Output").value_or("") == "true";
  return form == LogForm::kPlain && splits ? LogForm::kMarks : form;
}

}  // namespace cay::api::daytona
