#include "agent/llm/sse.h"

#include <algorithm>
#include <utility>

namespace cay::agent {

Result<void> SseReader::feed(std::string_view bytes, std::vector<SseEvent>& out) {
  while (!bytes.empty() && !too_large_) {
    if (std::exchange(after_cr_, false) && bytes.front() == '\n') {
      bytes.remove_prefix(1);
      continue;
    }
    const std::size_t end = std::min(bytes.find_first_of("\r\n"), bytes.size());
    too_large_ = line_.size() + event_.data.size() + end > most_;
    if (too_large_) break;
    line_ += bytes.substr(0, end);
    if (end == bytes.size()) break;
    after_cr_ = bytes[end] == '\r';
    bytes.remove_prefix(end + 1);
    end_line(out);
  }
  if (!too_large_) return {};
  return Error{Code::kUnavailable, "model_bad_answer",
               "an event of the answer has more than " + std::to_string(most_) + " bytes", 0};
}

void SseReader::finish(std::vector<SseEvent>& out) {
  if (too_large_) return;
  if (!line_.empty()) end_line(out);
  end_event(out);
}

void SseReader::end_line(std::vector<SseEvent>& out) {
  std::string_view line = line_;
  constexpr std::string_view kMark = "\xEF\xBB\xBF";
  if (std::exchange(is_first_line_, false) && line.starts_with(kMark))
    line.remove_prefix(kMark.size());
  if (line.empty()) {
    line_.clear();
    end_event(out);
    return;
  }
  const std::size_t colon = std::min(line.find(':'), line.size());  // at 0: a comment
  const std::string_view name = line.substr(0, colon);
  std::string_view value = line.substr(std::min(colon + 1, line.size()));
  if (value.starts_with(' ')) value.remove_prefix(1);
  if (name == "data") {
    if (std::exchange(has_data_, true)) event_.data += '\n';
    event_.data += value;
  } else if (name == "event") {
    event_.name = value;
  }
  line_.clear();
}

void SseReader::end_event(std::vector<SseEvent>& out) {
  SseEvent event = std::exchange(event_, {});
  if (std::exchange(has_data_, false)) out.push_back(std::move(event));
}

}  // namespace cay::agent
