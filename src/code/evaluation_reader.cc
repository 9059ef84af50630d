#include "code/evaluation_reader.h"

#include <algorithm>
#include <utility>

#include "codec/base64.h"
#include "codec/json.h"

namespace cay::code {
namespace {

using codec::json::object;

constexpr std::size_t kHead = 256;  // of a line of others: enough to see what it is
constexpr std::size_t kLongestMime = 128;
constexpr std::size_t kOfEvent = 64;  // that an event needs beside its text

bool read_parts(const object& from, std::map<std::string, std::string>& out) {
  const auto* value = from.if_contains("data");
  if (value == nullptr || !value->is_object()) return false;
  const object& parts = value->get_object();
  if (parts.size() > EvaluationReader::kMostParts) return false;
  for (const auto& [mime, part] : parts) {
    if (!part.is_string() || mime.size() > kLongestMime) return false;
    out.emplace(mime, part.get_string());
  }
  return true;
}

bool read_omitted(const object& from, std::map<std::string, std::uint64_t>& out) {
  const auto* value = from.if_contains("omitted");
  if (value == nullptr) return true;
  if (!value->is_object() || value->get_object().size() > EvaluationReader::kMostParts)
    return false;
  for (const auto& [mime, size] : value->get_object()) {
    if (!size.is_int64() || size.get_int64() < 0 || mime.size() > kLongestMime) return false;
    out.emplace(mime, static_cast<std::uint64_t>(size.get_int64()));
  }
  return true;
}

bool is_output_stream(std::string_view name) { return name == "stdout" || name == "stderr"; }

// The exact bytes of an output, which may be missing.
bool read_raw(const object& from, std::string& out) {
  if (!from.contains("base64")) return true;
  std::string text;
  if (!read_text(from, "base64", text)) return false;
  auto bytes = codec::from_base64(text);
  if (!bytes) return false;
  out = *std::move(bytes);
  return true;
}

std::optional<ContextEvent> event_from(const object& from, std::string_view type) {
  ContextEvent event;
  const auto text_event = [&](ContextEvent::Kind kind) -> std::optional<ContextEvent> {
    event.kind = kind;
    if (!read_text(from, "text", event.text) || !read_raw(from, event.raw)) return std::nullopt;
    return event;
  };
  const auto data_event = [&](ContextEvent::Kind kind) -> std::optional<ContextEvent> {
    event.kind = kind;
    if (!read_parts(from, event.data) || !read_omitted(from, event.omitted)) return std::nullopt;
    return event;
  };
  if (type == "stdout") return text_event(ContextEvent::Kind::kStdout);
  if (type == "stderr") return text_event(ContextEvent::Kind::kStderr);
  if (type == "background") {
    if (!read_text(from, "stream", event.name) || !read_text(from, "of", event.of) ||
        !is_output_stream(event.name) || event.of.size() > kLongestRunId ||
        !read_count(from, "bytes", event.bytes)) {
      return std::nullopt;
    }
    return text_event(ContextEvent::Kind::kBackground);
  }
  if (type == "display") return data_event(ContextEvent::Kind::kDisplay);
  if (type == "result") return data_event(ContextEvent::Kind::kResult);
  if (type != "error") return std::nullopt;
  event.kind = ContextEvent::Kind::kError;
  if (!read_text(from, "name", event.name) || !read_text(from, "value", event.text) ||
      !read_text(from, "traceback", event.traceback)) {
    return std::nullopt;
  }
  return event;
}

// Whether a line, of which there may be the first bytes alone, begins with the prefix.
bool is_own(std::string_view line, std::string_view prefix) {
  const std::size_t seen = std::min(line.size(), prefix.size());
  return line.substr(0, seen) == prefix.substr(0, seen);
}

// Interpreters send what comes between two evaluations as of none.
bool is_late(std::string_view line) {
  const auto head = head_of(line);
  return head && (head->type == "late" || (head->run.empty() && is_output_stream(head->type)));
}

// Reads an event of the background from a late line. nullopt: it cannot be read.
std::optional<ContextEvent> late_from(std::string_view line) {
  const auto from = codec::parse_object(line);
  ContextEvent event{.kind = ContextEvent::Kind::kBackground};
  std::string type;
  if (!from || !read_text(*from, "run", event.of) || !read_text(*from, "type", type) ||
      !read_text(*from, "text", event.text) || !read_raw(*from, event.raw)) {
    return std::nullopt;
  }
  if (type != "late") {
    event.name = std::move(type);
  } else if (!read_text(*from, "stream", event.name)) {
    return std::nullopt;
  }
  if (!is_output_stream(event.name)) return std::nullopt;
  return event;
}

}  // namespace

EvaluationReader::EvaluationReader(std::string run, Start start)
    : prefix_(R"({"run":")" + std::move(run) + "\","),
      own_from_(start.at),
      jobs_(start.jobs),
      line_begin_(start.from),
      idle_from_(start.from),
      at_(start.from),
      begun_(start.begun || start.under_way),
      under_way_(start.under_way) {}

void EvaluationReader::feed(std::string_view bytes) {
  while (!bytes.empty() && !is_over()) {
    const std::size_t end = bytes.find('\n');
    const std::string_view piece = bytes.substr(0, end);
    line_length_ += piece.size();
    at_ += piece.size();
    const std::string_view head = piece.substr(0, kHead - std::min(kHead, line_.size()));
    line_ += head;
    const std::string_view rest = piece.substr(head.size());
    if (!rest.empty() && line_.size() < kLongestLine && !in_gap_ &&
        (is_own(line_, prefix_) || is_late(line_))) {
      line_ += rest.substr(0, kLongestLine - line_.size());
    }
    if (end == std::string_view::npos) return;
    bytes.remove_prefix(end + 1);
    ++at_;
    end_line();
  }
}

void EvaluationReader::gap(std::uint64_t length) {
  const std::uint64_t others = under_way_ || at_ >= own_from_ ? 0 : own_from_ - at_;
  const std::uint64_t own = length - std::min(length, others);
  background_dropped_ += length - own;
  gaps_ += own;
  untold_gap_ += own;
  at_ += length;
  in_gap_ = true;
  line_.clear();
  line_length_ = 0;
  if (begun_ && untold_gap_ > 0)
    add({.kind = ContextEvent::Kind::kGap, .bytes = std::exchange(untold_gap_, 0)});
}

void EvaluationReader::settle(const LedgerEntry& entry) {
  if (is_over() || !entry.end) return;
  begin();
  if (untold_gap_ > 0)
    add({.kind = ContextEvent::Kind::kGap, .bytes = std::exchange(untold_gap_, 0)});
  line_begin_ = std::max(line_begin_, *entry.end);
  tag_ = entry.tag;
  ending_ = {.state = entry.state,
             .exit_code = entry.exit_code,
             .cwd = entry.cwd,
             .shell_ended = entry.shell_ended};
}

void EvaluationReader::end_line() {
  const auto head = in_gap_ ? std::nullopt : head_of(line_);
  if (!in_gap_ && line_.size() >= prefix_.size() && is_own(line_, prefix_)) {
    read_event(line_);
  } else if (jobs_ || !head) {
    // It is of others.
  } else if (is_late(line_)) {
    read_late(line_);
  } else if (under_way_ && gaps_ > 0 && head->type == "begin") {
    // Its end was dropped: a driver evaluates one after the other.
    ending_.state = EvaluationState::kLost;
  } else if (!under_way_ && head->type == "done") {
    background_.clear();  // it was of that one
    background_bytes_ = 0;
    background_dropped_ = 0;
    idle_from_ = at_;
  }
  if (is_over()) return;
  line_.clear();
  line_length_ = 0;
  in_gap_ = false;
  line_begin_ = at_;
}

bool EvaluationReader::has_room(std::size_t line_size) {
  if (bytes_ > 0 && (bytes_ + line_size > kMostBytes || events_.size() >= kMostEvents)) {
    full_ = true;  // and this line is the first of the next reader
    return false;
  }
  bytes_ += line_size;
  return true;
}

void EvaluationReader::read_late(std::string_view line) {
  if (under_way_ && !has_room(line.size())) return;
  auto event = line_length_ > line.size() ? std::nullopt : late_from(line);
  if (!event) event = {.kind = ContextEvent::Kind::kUnreadable, .bytes = line_length_};
  if (under_way_) return add(*std::move(event));
  const auto size_of = [](const ContextEvent& one) {
    return one.text.size() + one.raw.size() + kOfEvent;
  };
  background_bytes_ += size_of(*event);
  background_.push_back(*std::move(event));
  while (background_bytes_ > kMostBackground) {
    const ContextEvent& oldest = background_.front();
    background_bytes_ -= size_of(oldest);
    background_dropped_ += oldest.raw.empty() ? oldest.text.size() : oldest.raw.size();
    background_.pop_front();
  }
}

// From here on what jobs write is of its background.
void EvaluationReader::begin() {
  begun_ = true;
  if (std::exchange(under_way_, true)) return;
  if (background_dropped_ > 0) {
    add({.kind = ContextEvent::Kind::kBackground,
         .name = "stdout",
         .bytes = std::exchange(background_dropped_, 0)});
  }
  for (ContextEvent& event : background_) add(std::move(event));
  background_.clear();
  background_bytes_ = 0;
}

void EvaluationReader::read_event(std::string_view line) {
  if (!has_room(line.size())) return;
  const auto unreadable = [&] {
    if (begun_) add({.kind = ContextEvent::Kind::kUnreadable, .bytes = line_length_});
  };
  if (line_length_ > line.size()) return unreadable();
  const auto parsed = codec::parse_object(line);
  std::string type;
  if (!parsed || !read_text(*parsed, "type", type)) return unreadable();
  if (jobs_) {
    auto late = type == "late" ? late_from(line) : std::nullopt;
    if (!late) return;
    const bool is_out = late->name == "stdout";
    late->kind = is_out ? ContextEvent::Kind::kStdout : ContextEvent::Kind::kStderr;
    late->name.clear();
    late->of.clear();
    return add(*std::move(late));
  }
  if (type == "begin") {
    if (!begun_) static_cast<void>(read_text(*parsed, "tag", tag_));
    return begin();
  }
  // Its beginning may be in a gap. Without one, nothing comes before the beginning.
  if (!begun_ && gaps_ == 0) return;
  begin();
  if (untold_gap_ > 0)
    add({.kind = ContextEvent::Kind::kGap, .bytes = std::exchange(untold_gap_, 0)});
  if (type == "done") {
    auto ending = ending_from(*parsed);
    if (!ending) return unreadable();
    ending_ = *std::move(ending);
    own_end_ = at_;
    return;
  }
  auto event = event_from(*parsed, type);
  if (!event) return unreadable();
  add(*std::move(event));
}

void EvaluationReader::add(ContextEvent event) {
  const bool is_output =
      event.kind == ContextEvent::Kind::kStdout || event.kind == ContextEvent::Kind::kStderr;
  event.next = at_;
  const bool is_text = is_output || event.kind == ContextEvent::Kind::kBackground;
  if (is_text && !events_.empty() && events_.back().kind == event.kind &&
      events_.back().name == event.name && events_.back().of == event.of && event.bytes == 0 &&
      events_.back().raw.empty() && event.raw.empty()) {
    events_.back().text += event.text;
    events_.back().next = at_;
    return;
  }
  events_.push_back(std::move(event));
}

}  // namespace cay::code
