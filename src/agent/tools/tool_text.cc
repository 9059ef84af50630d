#include "agent/tools/tool_text.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <utility>

#include "base/ascii.h"
#include "codec/utf8.h"

namespace cay::agent {
namespace {

constexpr std::size_t kLongLine = 5000;
constexpr std::string_view kListCut =
    "... [results truncated, try being more specific with your parameters]";

Error for_model(std::string message) {
  return {Code::kInvalidArgument, "bad_tool_arguments", std::move(message)};
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> out;
  while (true) {
    const auto end = text.find('\n');
    out.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return out;
    text.remove_prefix(end + 1);
  }
}

// Pieces of at most kLongLine characters. A line without text has one piece.
std::vector<std::string_view> pieces_of(std::string_view line) {
  std::vector<std::string_view> out;
  while (line.size() > kLongLine) {
    std::size_t at = 0;
    for (std::size_t count = 0; count < kLongLine && at < line.size(); ++count) {
      at = codec::next_boundary(line, at + 1);
    }
    if (at >= line.size()) break;
    out.push_back(line.substr(0, at));
    line.remove_prefix(at);
  }
  if (!line.empty() || out.empty()) out.push_back(line);
  return out;
}

std::string rest_notice(const providers::FilePage& page) {
  const std::uint64_t count = page.last_line - page.first_line + 1;
  const std::string read = "[Read " + std::to_string(count) + " lines (lines " +
                           std::to_string(page.first_line) + "-" + std::to_string(page.last_line);
  const std::string next = std::to_string(page.last_line);
  if (!page.total_lines) return read + "). More lines remain from offset " + next + ".]";
  if (*page.total_lines == page.last_line) return {};
  return read + " of " + std::to_string(*page.total_lines) + " total). " +
         std::to_string(*page.total_lines - page.last_line) + " lines remain from offset " + next +
         ".]";
}

std::string shown_page(const providers::FilePage& page, std::int64_t asked_offset, bool cut) {
  std::string out = numbered(page.text, page.first_line);
  if (cut) {
    out +=
        "\n\n[Output was truncated due to size limits. Read the rest by its offset, or split long "
        "lines with a command first.]";
  }
  const auto rest = rest_notice(page);
  if (!rest.empty()) out += "\n\n" + rest;
  if (asked_offset < 0) {
    out += "\n\n[Requested offset " + std::to_string(asked_offset) +
           " is before the start of the file; read from line 1 instead.]";
  }
  return out;
}

// repr() of Python: single quotes, unless the text has one and no double quote.
std::string python_text(std::string_view text) {
  const bool single = text.find('\'') != std::string_view::npos;
  const bool use_double = single && text.find('"') == std::string_view::npos;
  std::string out(1, use_double ? '"' : '\'');
  for (const char c : text) {
    if (c == '\\' || (c == '\'' && !use_double)) out += '\\';
    if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (c == '\r') {
      out += "\\r";
    } else {
      out += c;
    }
  }
  return out + (use_double ? '"' : '\'');
}

bool looks_like_regex(std::string_view pattern) {
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    const auto two = pattern.substr(i, 2);
    if (pattern[i] == '|' || two == ".*" || two == ".+") return true;
    if (two.size() == 2 && two[0] == '\\' &&
        std::string_view(".wWdDsSbB(){}[]|+*?^$").find(two[1]) != std::string_view::npos) {
      return true;
    }
  }
  return false;
}

std::string capped(std::string text) {
  if (text.size() <= kMostToolText) return text;
  text.resize(codec::previous_boundary(text, kMostToolText));
  const auto line = text.rfind('\n');
  if (line != std::string::npos) text.resize(line);
  return text + "\n" + std::string(kListCut);
}

std::size_t count_of(std::string_view content, std::string_view text) {
  std::size_t count = 0;
  for (auto at = content.find(text); at != std::string_view::npos;
       at = content.find(text, at + text.size())) {
    ++count;
  }
  return count;
}

std::string replaced(std::string_view content, std::string_view from, std::string_view to) {
  std::string out;
  for (;;) {
    const auto at = content.find(from);
    out += content.substr(0, at);
    if (at == std::string_view::npos) return out;
    out += to;
    content.remove_prefix(at + from.size());
  }
}

std::string with_lf(std::string_view text) { return replaced(text, "\r\n", "\n"); }
std::string with_crlf(std::string_view text) { return replaced(with_lf(text), "\n", "\r\n"); }

}  // namespace

Result<std::string> normal_path(std::string_view path, std::string_view base) {
  const std::string shown(path);
  if (path.starts_with('~')) return for_model("Path traversal not allowed: " + shown);
  if (path.size() > 1 && is_letter(path[0]) && path[1] == ':') {
    return for_model("Windows absolute paths are not supported: " + shown +
                     ". Please use paths that begin with /");
  }
  if (path.find('\0') != std::string_view::npos) return for_model("The path has a NUL in it");
  std::string whole;
  if (!path.starts_with('/')) whole = std::string(base) + "/";
  whole += path;
  std::string out;
  std::string_view rest = whole;
  while (!rest.empty()) {
    const auto end = std::min(rest.find('/'), rest.size());
    const auto part = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (part.empty() || part == ".") continue;
    if (part == "..") return for_model("Path traversal not allowed: " + shown);
    out += "/";
    out += part;
  }
  return out.empty() ? "/" : out;
}

std::string numbered(std::string_view text, std::uint64_t first_line) {
  std::vector<std::pair<std::string, std::string_view>> rows;
  std::size_t width = 0;
  std::uint64_t number = first_line;
  for (const auto line : lines_of(text)) {
    std::size_t piece = 0;
    for (const auto part : pieces_of(line)) {
      std::string marker = std::to_string(number);
      if (piece > 0) marker += "." + std::to_string(piece);
      width = std::max(width, marker.size());
      rows.emplace_back(std::move(marker), part);
      ++piece;
    }
    ++number;
  }
  std::string out;
  for (const auto& [marker, line] : rows) {
    if (!out.empty()) out += '\n';
    out.append(width - marker.size(), ' ');
    out += marker + "  ";
    out += line;
  }
  return out;
}

std::string read_text(const providers::FilePage& page, std::int64_t asked_offset) {
  if (page.first_line == 0) return std::string(kEmptyFile);
  auto text = shown_page(page, asked_offset, page.cut);
  if (text.size() <= kMostToolText) return text;
  // Lines are dropped from the end until the answer fits. The first line always stays.
  auto shown = page;
  while (text.size() > kMostToolText && shown.last_line > shown.first_line) {
    const std::size_t excess = text.size() - kMostToolText;
    const std::size_t keep = shown.text.size() > excess ? shown.text.size() - excess : 0;
    auto end = shown.text.rfind('\n', keep);
    if (end == std::string::npos) end = shown.text.find('\n');
    const auto dropped = std::string_view(shown.text).substr(end);
    shown.last_line -= static_cast<std::uint64_t>(std::count(dropped.begin(), dropped.end(), '\n'));
    shown.text.resize(end);
    text = shown_page(shown, asked_offset, true);
  }
  if (text.size() <= kMostToolText) return text;
  shown.text.resize(codec::previous_boundary(shown.text, kMostToolText - 2000));
  return shown_page(shown, asked_offset, true);
}

std::string path_list(const std::vector<std::string>& paths) {
  if (paths.empty()) return "No files found";
  std::string out = "[";
  for (const auto& path : paths) {
    auto item = python_text(codec::sanitised_utf8(path));
    if (out.size() + item.size() + kListCut.size() + 8 > kMostToolText) {
      return out + ", " + python_text(kListCut) + "]";
    }
    if (out.size() > 1) out += ", ";
    out += item;
  }
  return out + "]";
}

std::string grep_text(const providers::Found<providers::Match>& found, GrepMode mode,
                      std::string_view pattern) {
  if (found.entries.empty()) {
    std::string out = "No matches found";
    if (found.truncated) {
      out += "\n\nNote: the search stopped early at its time limit. Narrow the path.";
    } else if (looks_like_regex(pattern)) {
      out +=
          "\n\nNote: grep matches literal text, not regex, so `|`, `.*` and `\\.` are searched as "
          "they are. Search for the literal text, with one search for each alternative.";
    }
    return out;
  }
  std::map<std::string, std::vector<const providers::Match*>> files;
  for (const auto& match : found.entries) files[match.path].push_back(&match);
  std::string out;
  for (const auto& [path, matches] : files) {
    if (!out.empty()) out += '\n';
    out += codec::sanitised_utf8(path);
    if (mode == GrepMode::kCount) out += ": " + std::to_string(matches.size());
    if (mode != GrepMode::kContent) continue;
    out += ':';
    for (const auto* match : matches) {
      out += "\n  " + std::to_string(match->line) + ": " + codec::sanitised_utf8(match->text);
    }
  }
  out = capped(std::move(out));
  if (found.truncated) {
    out +=
        "\n\nNote: the search stopped early (it hit its time limit or the maximum match count). "
        "The matches above are valid but incomplete. Narrow the search, or raise max_count.";
  }
  return out;
}

std::string execute_text(const providers::Executed& ran, std::optional<double> timeout_s) {
  std::string out = codec::sanitised_utf8(ran.output);
  const int code = ran.shell_exit_code();
  if (!ran.exit_code) {
    if (!out.empty() && !out.ends_with('\n')) out += '\n';
    if (ran.state == "timed_out") {
      out += "Error: Command timed out";
      if (timeout_s) {
        out += " after " + std::to_string(static_cast<std::int64_t>(*timeout_s)) + " seconds";
      }
      out += ". Use a longer timeout, or run it in the background.";
    } else {
      out += "Error: Command ended as " + ran.state;
      if (!ran.reason.empty()) out += ": " + ran.reason;
    }
  }
  out += "\n[Command " + std::string(code == 0 ? "succeeded" : "failed") + " with exit code " +
         std::to_string(code) + "]";
  if (ran.truncated) out += "\n[Output was truncated due to size limits]";
  return out;
}

Result<Edited> edited(std::string_view content, const std::string& old_text,
                      const std::string& new_text, bool replace_all, const std::string& path) {
  if (!codec::is_utf8(content)) return for_model("File '" + path + "' is not a text file");
  if (old_text.empty()) {
    if (content.empty()) return Edited{new_text, 1};
    return for_model("old_string is empty: name the text to replace");
  }
  // As it came, else with the other ends of lines. The file keeps its own.
  const std::array<std::pair<std::string, std::string>, 3> forms{
      {{old_text, new_text},
       {with_crlf(old_text), with_crlf(new_text)},
       {with_lf(old_text), with_lf(new_text)}}};
  for (const auto& [from, to] : forms) {
    const std::size_t count = count_of(content, from);
    if (count == 0) continue;
    if (count > 1 && !replace_all) {
      return for_model("String '" + old_text +
                       "' appears multiple times. Use replace_all=True to replace all "
                       "occurrences.");
    }
    return Edited{replaced(content, from, to), count};
  }
  return for_model("String not found in file: '" + old_text + "'");
}

std::string_view media_type(std::string_view path) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 27> kTypes{{
      {"png", "image/png"},
      {"jpg", "image/jpeg"},
      {"jpeg", "image/jpeg"},
      {"webp", "image/webp"},
      {"gif", "image/gif"},
      {"heic", "image/heic"},
      {"heif", "image/heif"},
      {"pdf", "application/pdf"},
      {"mp4", "video/mp4"},
      {"mpeg", "video/mpeg"},
      {"mov", "video/quicktime"},
      {"avi", "video/x-msvideo"},
      {"flv", "video/x-flv"},
      {"mpg", "video/mpeg"},
      {"webm", "video/webm"},
      {"wmv", "video/x-ms-wmv"},
      {"3gpp", "video/3gpp"},
      {"mkv", "video/x-matroska"},
      {"wav", "audio/wav"},
      {"mp3", "audio/mpeg"},
      {"aiff", "audio/aiff"},
      {"aac", "audio/aac"},
      {"ogg", "audio/ogg"},
      {"flac", "audio/flac"},
      {"ppt", "application/vnd.ms-powerpoint"},
      {"pptx", "application/vnd.openxmlformats-officedocument.presentationml.presentation"},
      {"m4a", "audio/mp4"},
  }};
  const auto dot = path.rfind('.');
  if (dot == std::string_view::npos || path.find('/', dot) != std::string_view::npos) return {};
  std::string suffix(path.substr(dot + 1));
  for (char& c : suffix) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  for (const auto& [name, type] : kTypes) {
    if (name == suffix) return type;
  }
  return {};
}

}  // namespace cay::agent
