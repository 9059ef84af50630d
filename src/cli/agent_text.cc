#include "cli/agent_text.h"

#include <cstdio>
#include <utility>
#include <vector>

#include "cli/render.h"
#include "base/lines.h"

namespace cay::cli {
namespace {

namespace json = codec::json;

constexpr std::size_t kWidest = 160;     // of a line of output
constexpr std::size_t kArguments = 100;  // of a call
constexpr std::string_view kMore = "…";

bool continues(char byte) {
  constexpr unsigned kMask = 0xc0, kContinuation = 0x80;
  return (static_cast<unsigned char>(byte) & kMask) == kContinuation;
}

// How many bytes a character has that begins with `byte`.
std::size_t length_of(char byte) {
  const auto first = static_cast<unsigned char>(byte);
  if (first >= 0xf0) return 4;
  if (first >= 0xe0) return 3;
  return first >= 0xc0 ? 2 : 1;
}

// Returns how many bytes of `text` stand before a cut character at its end.
std::size_t whole_until(std::string_view text) {
  std::size_t at = text.size();
  for (int i = 0; i < 3 && at > 0; ++i) {
    --at;
    if (!continues(text[at])) return at + length_of(text[at]) > text.size() ? at : text.size();
  }
  return text.size();
}

std::string with_tabs(std::string_view text) {
  std::string out;
  for (;;) {
    const auto tab = text.find('\t');
    out += printable(text.substr(0, tab), Newlines::kKept);
    if (tab == std::string_view::npos) return out;
    out += '\t';
    text.remove_prefix(tab + 1);
  }
}

std::string text_in(const json::object& from, std::string_view name) {
  const json::value* found = from.if_contains(name);
  if (found == nullptr) return {};
  if (found->is_string()) return std::string(found->get_string());
  return codec::write(*found);
}

// The argument by which people know a call of this tool; "" for tools without one.
std::string_view main_argument(std::string_view tool) {
  constexpr std::pair<std::string_view, std::string_view> kMain[] = {
      {"execute", "command"},     {"ls", "path"},
      {"read_file", "file_path"}, {"write_file", "file_path"},
      {"edit_file", "file_path"}, {"delete", "file_path"},
      {"glob", "pattern"},        {"grep", "pattern"},
      {"task", "description"},    {"web_fetch", "url"},
      {"web_search", "query"},    {"run_code", "code"}};
  for (const auto& [name, argument] : kMain) {
    if (name == tool) return argument;
  }
  return {};
}

std::string one_line(std::string_view text) {
  const auto begin = text.find_first_not_of(" \n\t");
  if (begin == std::string_view::npos) return {};
  text.remove_prefix(begin);
  const auto end = text.find('\n');
  std::string out = printable(text.substr(0, end));
  if (end != std::string_view::npos && text.find_first_not_of(" \n\t", end) != text.npos)
    out += " " + std::string(kMore);
  return cut_line(out, kArguments);
}

}  // namespace

std::string PrintableStream::add(std::string_view piece) {
  held_ += piece;
  const std::size_t whole = whole_until(held_);
  std::string out = with_tabs(std::string_view(held_).substr(0, whole));
  held_.erase(0, whole);
  return out;
}

std::string PrintableStream::finish() { return with_tabs(std::exchange(held_, {})); }

std::string shown_lines(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const auto end = text.find('\n');
    std::string_view line = text.substr(0, end);
    while (line.ends_with('\r')) line.remove_suffix(1);
    if (const auto painted = line.rfind('\r'); painted != std::string_view::npos)
      line.remove_prefix(painted + 1);
    out += with_tabs(line);
    if (end == std::string_view::npos) break;
    out += '\n';
    text.remove_prefix(end + 1);
  }
  return out;
}

std::string cut_line(std::string_view line, std::size_t most) {
  if (line.size() <= most) return std::string(line);
  std::size_t end = most > kMore.size() ? most - kMore.size() : 0;
  while (end > 0 && continues(line[end])) --end;
  return std::string(line.substr(0, end)) + std::string(kMore);
}

std::string first_lines(std::string_view text, std::string_view indent, std::size_t most) {
  const std::string shown = shown_lines(text);
  const auto lines = lines_of(shown);
  std::string out;
  for (std::size_t i = 0; i < lines.size() && i < most; ++i)
    out += std::string(indent) + cut_line(lines[i], kWidest) + "\n";
  if (lines.size() <= most) return out;
  const std::size_t others = lines.size() - most;
  return out + std::string(indent) + std::string(kMore) + " " + grouped(others) +
         (others == 1 ? " more line\n" : " more lines\n");
}

std::string short_arguments(std::string_view tool, std::string_view arguments) {
  const auto parsed = codec::parse_object(arguments, codec::Empty::kIsObject);
  if (!parsed) return one_line(arguments);
  const std::string_view main = main_argument(tool);
  if (!main.empty() && parsed->contains(main)) {
    std::string out = one_line(text_in(*parsed, main));
    const std::string in = main == "pattern" ? text_in(*parsed, "path") : std::string();
    return in.empty() ? out : cut_line(out + " in " + printable(in), kArguments);
  }
  std::string out;
  for (const auto& [name, value] : *parsed) {
    const std::string key(name);
    out += (out.empty() ? "" : " ") + key + "=" + text_in(*parsed, key);
  }
  return one_line(out);
}

std::string grouped(std::uint64_t number) {
  constexpr std::size_t kGroup = 3;
  std::string out = std::to_string(number);
  for (std::size_t at = out.size(); at > kGroup;) out.insert(at -= kGroup, ",");
  return out;
}

std::string dollars(double cost) {
  char text[32];
  std::snprintf(text, sizeof text, cost >= 1 ? "$%.2f" : "$%.4f", cost);
  return text;
}

}  // namespace cay::cli
