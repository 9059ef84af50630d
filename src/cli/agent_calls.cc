#include "cli/agent_calls.h"

#include <algorithm>
#include <utility>

#include "cli/agent_diff.h"
#include "cli/agent_text.h"
#include "codec/json.h"

namespace cay::cli {
namespace {

namespace json = codec::json;

constexpr std::string_view kIndent = "    ";
constexpr std::size_t kMostLive = 12;     // lines of output that are shown as they come
constexpr std::size_t kMostLast = 4;      // and of those behind them
constexpr std::size_t kMostChanged = 30;  // lines of a change
constexpr std::size_t kMostResult = 8;
constexpr std::size_t kMostPending = 64 * 1024;
constexpr std::size_t kWidest = 160;

std::string argument(const json::object& from, const char* name) {
  const json::value* found = from.if_contains(name);
  return found != nullptr && found->is_string() ? std::string(found->get_string()) : std::string();
}

std::size_t lines_in(std::string_view text) {
  const auto breaks = static_cast<std::size_t>(std::ranges::count(text, '\n'));
  return breaks + (text.empty() || text.ends_with('\n') ? 0 : 1);
}

// Tools that return what the agent reads. People need its size alone.
bool is_quiet(std::string_view tool) {
  return tool == "ls" || tool == "read_file" || tool == "glob" || tool == "grep";
}
bool is_change(std::string_view tool) { return tool == "write_file" || tool == "edit_file"; }
bool runs_programs(std::string_view tool) { return tool == "execute" || tool == "run_code"; }

}  // namespace

std::string painted(std::string_view text, Paint paint, bool colour) {
  if (!colour || paint == Paint::kPlain || text.empty()) return std::string(text);
  std::string_view code;
  switch (paint) {
    case Paint::kPlain: break;
    case Paint::kHead: code = "\x1b[1m"; break;
    case Paint::kDim: code = "\x1b[2m"; break;
    case Paint::kAdded: code = "\x1b[32m"; break;
    case Paint::kRemoved: code = "\x1b[31m"; break;
    case Paint::kBad: code = "\x1b[1;31m"; break;
  }
  return std::string(code) + std::string(text) + "\x1b[0m";
}

std::string change_of(std::string_view tool, std::string_view arguments) {
  constexpr std::size_t kContext = 2;
  if (!is_change(tool)) return {};
  const auto parsed = codec::parse_object(arguments);
  if (!parsed) return {};
  const bool edit = tool == "edit_file";
  const std::string before = edit ? argument(*parsed, "old_string") : std::string();
  const std::string after = argument(*parsed, edit ? "new_string" : "content");
  std::string out;
  for (const DiffLine& line : hunks(line_diff(before, after), kContext)) {
    out += line.kind;
    out += " " + shown_lines(line.text) + "\n";
  }
  return out;
}

void CallBlocks::begin(std::string id, std::string name, std::string arguments) {
  calls_.push_back({std::move(id), std::move(name), std::move(arguments)});
  if (calls_.size() == 1) show_head(calls_.front());
}

void CallBlocks::output(std::string_view id, std::string_view bytes) {
  Call* call = find(id);
  if (call == nullptr || bytes.empty()) return;
  call->has_output = true;
  call->pending += bytes;
  if (call == &calls_.front()) {
    take_lines(*call);
  } else if (call->pending.size() > kMostPending) {
    take_lines(*call);  // counted, and the first of them are shown later
  }
}

void CallBlocks::end(std::string_view id, CallEnd end) {
  Call* call = find(id);
  if (call == nullptr) return;
  call->ended = std::move(end);
  advance();
}

CallBlocks::Call* CallBlocks::find(std::string_view id) {
  const auto found = std::ranges::find(calls_, id, &Call::id);
  return found == calls_.end() ? nullptr : &*found;
}

void CallBlocks::advance() {
  while (!calls_.empty() && calls_.front().ended) {
    show_end(calls_.front());
    calls_.pop_front();
    if (calls_.empty()) return;
    show_head(calls_.front());
    take_lines(calls_.front());
  }
}

void CallBlocks::show_head(const Call& call) {
  const std::string arguments = short_arguments(call.name, call.arguments);
  write_(painted("* " + shown_lines(call.name), Paint::kHead, colour_) +
         (arguments.empty() ? "" : " " + arguments) + "\n");
  const std::string change = change_of(call.name, call.arguments);
  std::size_t lines = 0;
  for (std::size_t at = 0; at < change.size() && lines < kMostChanged; ++lines) {
    const auto end = change.find('\n', at);
    const std::string text = cut_line(std::string_view(change).substr(at, end - at), kWidest);
    const Paint paint = text[0] == '+'   ? Paint::kAdded
                        : text[0] == '-' ? Paint::kRemoved
                                         : Paint::kDim;
    line(text, paint);
    at = end + 1;
  }
  const std::size_t all = lines_in(change);
  if (all > lines) line("… " + grouped(all - lines) + " more lines", Paint::kDim);
}

void CallBlocks::take_lines(Call& call) {
  std::size_t at = 0;
  for (auto end = call.pending.find('\n'); end != std::string::npos;
       end = call.pending.find('\n', at)) {
    take_line(call, std::string_view(call.pending).substr(at, end - at));
    at = end + 1;
  }
  call.pending.erase(0, at);
  // A line without an end is cut, so that a program cannot fill the memory.
  if (call.pending.size() > kMostPending) {
    take_line(call, call.pending);
    call.pending.clear();
  }
}

void CallBlocks::take_line(Call& call, std::string_view text) {
  const bool live = &call == &calls_.front();
  std::string shown = cut_line(shown_lines(text.substr(0, kMostPending)), kWidest);
  if (live && call.shown < kMostLive) {
    ++call.shown;
    line(shown, Paint::kDim);
    return;
  }
  ++call.hidden;
  call.last.push_back(std::move(shown));
  if (call.last.size() > kMostLast) call.last.pop_front();
}

void CallBlocks::show_end(Call& call) {
  if (!call.pending.empty()) take_line(call, std::exchange(call.pending, {}));
  if (call.hidden > call.last.size()) {
    const std::uint64_t left = call.hidden - call.last.size();
    line("… " + grouped(left) + (left == 1 ? " more line" : " more lines"), Paint::kDim);
  }
  for (const std::string& text : call.last) line(text, Paint::kDim);
  show_result(call);
}

void CallBlocks::show_result(const Call& call) {
  const CallEnd& end = *call.ended;
  if (end.failed) {
    line(cut_line(shown_lines(std::string_view(end.text).substr(0, end.text.find('\n'))), kWidest),
         Paint::kBad);
    return;
  }
  if (end.exit_code && *end.exit_code != 0 && call.has_output)
    line("[exit code " + std::to_string(*end.exit_code) + "]", Paint::kBad);
  if (call.has_output || is_change(call.name) || call.name == "delete") return;
  if (is_quiet(call.name)) {
    const std::size_t lines = lines_in(end.text);
    line(grouped(lines) + (lines == 1 ? " line" : " lines"), Paint::kDim);
    return;
  }
  const std::size_t most = runs_programs(call.name) ? kMostLive : kMostResult;
  write_(painted(first_lines(end.text, kIndent, most), Paint::kDim, colour_));
}

void CallBlocks::line(std::string_view text, Paint paint) {
  write_(std::string(kIndent) + painted(text, paint, colour_) + "\n");
}

}  // namespace cay::cli
