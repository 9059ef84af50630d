#include "code/evaluation_reader.h"

#include <algorithm>
#include <utility>

#include "codec/base64.h"
#include "codec/json.h"

namespace cay::code {
namespace {

using codec::json::object;

constexpr std::string_view kRun = R"({"run":")";
constexpr std::string_view kBegin = R"(","type":"begin")";
constexpr std::size_t kLongestId = 64;  // of an evaluation
constexpr std::size_t kHead = 256;      // of a line of others: enough to see what it is
constexpr std::size_t kLongestMime = 128;
constexpr std::size_t kLongestPath = 16 << 10;  // of a working directory
constexpr std::int64_t kMostExitCode = 255;

bool read_text(const object& from, std::string_view name, std::string& out) {
  const auto* value = from.if_contains(name);
  if (value == nullptr || !value->is_string()) return false;
  out = value->get_string();
  return true;
}

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

// A number that may be missing.
bool read_count(const object& from, std::string_view name, std::uint64_t& out) {
  const auto* value = from.if_contains(name);
  if (value == nullptr) return true;
  if (!value->is_int64() || value->get_int64() < 0) return false;
  out = static_cast<std::uint64_t>(value->get_int64());
  return true;
}

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
        !is_output_stream(event.name) || event.of.size() > kLongestId ||
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

std::optional<EvaluationState> status_from(const object& from) {
  std::string status;
  if (!read_text(from, "status", status)) return std::nullopt;
  for (const EvaluationState one : {EvaluationState::kOk, EvaluationState::kError,
                                    EvaluationState::kInterrupted, EvaluationState::kTimedOut}) {
    if (status == to_string(one)) return one;
  }
  return std::nullopt;
}

}  // namespace

EvaluationReader::EvaluationReader(std::string run, std::uint64_t from, bool begun)
    : prefix_(std::string(kRun) + std::move(run) + "\","),
      line_begin_(from),
      at_(from),
      begun_(begun) {}

bool EvaluationReader::is_own_line() const {
  const std::size_t seen = std::min(line_.size(), prefix_.size());
  return !in_gap_ && line_.compare(0, seen, prefix_, 0, seen) == 0;
}

bool EvaluationReader::begins_another() const {
  if (in_gap_ || !line_.starts_with(kRun)) return false;
  const std::size_t id_end = line_.find('"', kRun.size());
  return id_end != std::string::npos && line_.compare(id_end, kBegin.size(), kBegin) == 0;
}

void EvaluationReader::feed(std::string_view bytes) {
  while (!bytes.empty() && !is_over()) {
    const std::size_t end = bytes.find('\n');
    const std::string_view piece = bytes.substr(0, end);
    line_length_ += piece.size();
    at_ += piece.size();
    const std::size_t most = is_own_line() ? kLongestLine : kHead;
    if (line_.size() < most) line_ += piece.substr(0, most - line_.size());
    if (end == std::string_view::npos) return;
    bytes.remove_prefix(end + 1);
    ++at_;
    end_line();
  }
}

void EvaluationReader::gap(std::uint64_t length) {
  gaps_ += length;
  untold_gap_ += length;
  at_ += length;
  in_gap_ = true;
  line_.clear();
  line_length_ = 0;
  if (begun_) add({.kind = ContextEvent::Kind::kGap, .bytes = std::exchange(untold_gap_, 0)});
}

void EvaluationReader::end_line() {
  if (is_own_line() && line_.size() >= prefix_.size()) {
    read_event(line_);
  } else if (begun_ && gaps_ > 0 && begins_another()) {
    state_ = EvaluationState::kLost;  // its end was dropped: a driver evaluates one after the other
  }
  if (is_over()) return;
  line_.clear();
  line_length_ = 0;
  in_gap_ = false;
  line_begin_ = at_;
}

void EvaluationReader::read_event(std::string_view line) {
  if (bytes_ > 0 && (bytes_ + line.size() > kMostBytes || events_.size() >= kMostEvents)) {
    full_ = true;  // and this line is the first of the next reader
    return;
  }
  bytes_ += line.size();
  const auto unreadable = [&] {
    if (begun_) add({.kind = ContextEvent::Kind::kUnreadable, .bytes = line_length_});
  };
  if (line_length_ > line.size()) return unreadable();
  const auto parsed = codec::parse_object(line);
  std::string type;
  if (!parsed || !read_text(*parsed, "type", type)) return unreadable();
  if (type == "begin") {
    if (!begun_) static_cast<void>(read_text(*parsed, "tag", tag_));
    begun_ = true;
    return;
  }
  // Its beginning may be in a gap. Without one, nothing comes before the beginning.
  if (!begun_ && gaps_ == 0) return;
  begun_ = true;
  if (untold_gap_ > 0)
    add({.kind = ContextEvent::Kind::kGap, .bytes = std::exchange(untold_gap_, 0)});
  if (type == "done") {
    return read_end(*parsed) ? void() : unreadable();
  }
  auto event = event_from(*parsed, type);
  if (!event) return unreadable();
  add(*std::move(event));
}

bool EvaluationReader::read_end(const object& from) {
  const auto status = status_from(from);
  if (!status) return false;
  std::string cwd;
  std::optional<std::uint32_t> exit_code;
  if (const auto* code = from.if_contains("exit_code")) {
    if (!code->is_int64() || code->get_int64() < 0 || code->get_int64() > kMostExitCode)
      return false;
    exit_code = static_cast<std::uint32_t>(code->get_int64());
  }
  if (from.contains("cwd") && (!read_text(from, "cwd", cwd) || cwd.size() > kLongestPath))
    return false;
  const auto* ended = from.if_contains("ended");
  if (ended != nullptr && !ended->is_bool()) return false;
  exit_code_ = exit_code;
  cwd_ = std::move(cwd);
  shell_ended_ = ended != nullptr && ended->get_bool();
  state_ = *status;
  return true;
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
