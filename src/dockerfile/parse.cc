#include <algorithm>

#include "base/ascii.h"
#include "dockerfile/dockerfile.h"
#include "dockerfile/instructions.h"
#include "dockerfile/lines.h"
#include "dockerfile/text.h"
#include "dockerfile/words.h"

namespace cay::dockerfile {
namespace {

std::string capitals(std::string_view word) {
  std::string out(word);
  for (char& c : out) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  }
  return out;
}

bool takes_heredocs(std::string_view keyword) {
  return keyword == "RUN" || keyword == "COPY" || keyword == "ADD";
}

// Reads the here-documents that a line names. Their lines follow it.
Result<std::vector<Heredoc>> heredocs_of(LineReader& lines, const Item& item) {
  std::vector<Heredoc> out;
  if (!takes_heredocs(item.keyword) || item.rest.find("<<") == std::string_view::npos) return out;
  if (json_array(item.rest).is != JsonArray::Is::kNoJson) return out;
  const QuotedWords found = quoted_words(item.rest, item.escape);
  if (!found.balanced) return out;
  for (const auto& word : found.words) {
    auto one = heredoc_of(word, item.escape);
    if (!one) continue;
    auto content = lines.heredoc(one->name, one->strips_tabs);
    if (!content) {
      return wrong_at(item.line, "the here-document " + shown(one->name) +
                                     " has no end: no line is " + shown(one->name) + " alone");
    }
    one->content = *std::move(content);
    out.push_back(*std::move(one));
  }
  return out;
}

Result<void> add_stage(const Item& item, Dockerfile& out) {
  CAY_TRY(Stage stage, stage_of(item));
  if (!stage.name.empty() &&
      std::ranges::find(out.stages, stage.name, &Stage::name) != out.stages.end()) {
    return wrong_at(item.line, "two stages are named " + shown(stage.name));
  }
  out.stages.push_back(std::move(stage));
  return {};
}

Result<void> add_line(LineReader& lines, const LogicalLine& line, Dockerfile& out) {
  const std::string_view text = line.text;
  const std::size_t end = std::min(text.find_first_of(kBlanks), text.size());
  Item item{.line = line.number, .keyword = capitals(text.substr(0, end))};
  const LeadingFlags found = leading_flags(text.substr(end));
  item.flags = found.flags;
  item.rest = found.rest;
  item.escape = out.escape;
  item.notes = &out.notes;
  if (item.keyword == "FROM") return add_stage(item, out);
  if (out.stages.empty() && item.keyword != "ARG") {
    CAY_CHECK(meaning_of(item));  // a word that is no instruction is the better message
    return wrong_at(line.number, item.keyword + " stands before the first FROM. Only ARG may");
  }
  CAY_TRY(item.heredocs, heredocs_of(lines, item));
  CAY_TRY(Meaning meaning, meaning_of(item));
  auto& to = out.stages.empty() ? out.arguments : out.stages.back().instructions;
  to.push_back({line.number, line.text, std::move(meaning)});
  return {};
}

}  // namespace

std::string text_of(const Heredoc& from) {
  if (!from.strips_tabs) return from.content;
  std::string out;
  bool at_start = true;
  for (const char c : from.content) {
    if (at_start && c == '\t') continue;
    at_start = c == '\n';
    out += c;
  }
  return out;
}

Result<Dockerfile> parse(std::string_view text) {
  if (text.size() > kMostBytes) return wrong_at(1, "a Dockerfile may have 1 MiB");
  if (const std::size_t nul = text.find('\0'); nul != std::string_view::npos) {
    const auto line =
        1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(nul), '\n');
    return wrong_at(static_cast<int>(line), "there is a NUL byte: this is no text");
  }
  CAY_TRY(LineReader lines, LineReader::open(text));
  Dockerfile out;
  out.escape = lines.escape();
  std::size_t count = 0;
  while (const auto line = lines.next()) {
    if (++count > kMostInstructions) {
      return wrong_at(line->number, "a Dockerfile may have 2000 instructions");
    }
    CAY_CHECK(add_line(lines, *line, out));
  }
  if (out.stages.empty()) return wrong_at(1, "there is no FROM");
  return out;
}

}  // namespace cay::dockerfile
