#include "vault/message_boundaries.h"

#include <algorithm>
#include <string>

#include "base/ascii.h"
#include "http/text.h"

namespace cay::vault {
namespace {

constexpr int kSwitching = 101;
constexpr std::string_view kByLines[] = {"application/x-ndjson", "application/ndjson",
                                         "application/jsonl",    "application/x-jsonlines",
                                         "application/json-seq", "application/stream+json"};

}  // namespace

void MessageBoundaries::read(std::string_view piece, std::string& text, std::string& asides) {
  if (kind_ == Kind::kMessages) {
    frames_.read(piece, text, asides);
    received_ += piece.size();
    last_ = frames_.last_end();
    return;
  }
  text += piece;
  if (kind_ == Kind::kEvents) find_blank_lines(piece);
  if (kind_ == Kind::kLines) {
    const std::size_t end = piece.rfind('\n');
    if (end != std::string_view::npos) last_ = received_ + end + 1;
  }
  received_ += piece.size();
}

// A line ends with CR, LF or both.
void MessageBoundaries::find_blank_lines(std::string_view piece) {
  for (std::size_t at = 0; at < piece.size(); ++at) {
    const char c = piece[at];
    const std::uint64_t behind = received_ + at + 1;
    if (c == '\n' && after_return_) {  // both end one line
      if (last_ + 1 == behind) last_ = behind;
    } else if (c == '\n' || c == '\r') {
      if (line_is_empty_) last_ = behind;
      line_is_empty_ = true;
    } else {
      line_is_empty_ = false;
    }
    after_return_ = c == '\r';
  }
}

MessageBoundaries::Kind boundaries_of(const http::UpstreamAnswer& answer) {
  if (answer.status == kSwitching) {
    const bool websocket = http::list_has(answer.headers.get("Upgrade").value_or(""), "websocket");
    return websocket ? MessageBoundaries::Kind::kMessages : MessageBoundaries::Kind::kNone;
  }
  MessageBoundaries::Kind kind = MessageBoundaries::Kind::kNone;
  int types = 0;
  for (const auto& [name, value] : answer.headers.items()) {
    if (!equals_ignoring_case(name, "Content-Type")) continue;
    const std::string_view whole = value;
    const std::string type = lowered(trimmed(whole.substr(0, whole.find(';'))));
    if (type == "text/event-stream") kind = MessageBoundaries::Kind::kEvents;
    if (std::ranges::find(kByLines, type) != std::end(kByLines))
      kind = MessageBoundaries::Kind::kLines;
    ++types;
  }
  return types == 1 ? kind : MessageBoundaries::Kind::kNone;
}

}  // namespace cay::vault
