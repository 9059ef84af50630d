#include "providers/glob_rules.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace cay::providers {
namespace {

std::vector<std::string> split_path(std::string_view path) {
  std::vector<std::string> out;
  while (!path.empty()) {
    const auto end = std::min(path.find('/'), path.size());
    if (end > 0) out.emplace_back(path.substr(0, end));
    path.remove_prefix(std::min(end + 1, path.size()));
  }
  return out;
}

// The "{" that opens the first group with a comma, its "}", and the commas of its own level.
struct Braces {
  std::size_t open = 0, close = 0;
  std::vector<std::size_t> commas{};
};

std::optional<Braces> braces_from(std::string_view text, std::size_t open) {
  Braces found{.open = open};
  int depth = 0;
  for (std::size_t i = open; i < text.size(); ++i) {
    if (text[i] == '\\') {
      ++i;
    } else if (text[i] == '{') {
      ++depth;
    } else if (text[i] == ',' && depth == 1) {
      found.commas.push_back(i);
    } else if (text[i] == '}' && --depth == 0) {
      found.close = i;
      return found.commas.empty() ? std::nullopt : std::optional<Braces>(found);
    }
  }
  return std::nullopt;
}

std::optional<Braces> first_braces(std::string_view text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\') {
      ++i;
    } else if (text[i] == '{') {
      auto found = braces_from(text, i);
      if (found) return found;
    }
  }
  return std::nullopt;
}

// A set "[...]" at the beginning of `pattern`: whether `c` is in it, and its length. Nothing: it
// has no end, and '[' is a letter.
struct SetMatch {
  bool matched = false;
  std::size_t length = 0;
};
std::optional<SetMatch> match_set(std::string_view pattern, char c) {
  std::size_t i = 1;
  const bool negated = i < pattern.size() && (pattern[i] == '!' || pattern[i] == '^');
  if (negated) ++i;
  const std::size_t begin = i;
  bool found = false;
  for (; i < pattern.size(); ++i) {
    if (pattern[i] == ']' && i > begin) return SetMatch{found != negated, i + 1};
    const auto low = static_cast<unsigned char>(pattern[i]);
    auto high = low;
    if (i + 2 < pattern.size() && pattern[i + 1] == '-' && pattern[i + 2] != ']') {
      high = static_cast<unsigned char>(pattern[i + 2]);
      i += 2;
    }
    const auto got = static_cast<unsigned char>(c);
    if (low <= got && got <= high) found = true;
  }
  return std::nullopt;
}

// The bytes of the UTF-8 character at the beginning of `name`: '?' takes all of them.
std::size_t character_length(std::string_view name) {
  std::size_t length = 1;
  while (length < name.size() && (static_cast<unsigned char>(name[length]) & 0xC0) == 0x80) {
    ++length;
  }
  return length;
}

// Matches one element that is no '*'. Returns the lengths in the pattern and in the name.
struct Step {
  std::size_t pattern = 0, name = 0;
};
std::optional<Step> match_one(std::string_view pattern, std::string_view name) {
  if (name.empty()) return std::nullopt;
  if (pattern.front() == '?') return Step{1, character_length(name)};
  if (pattern.front() == '[') {
    const auto set = match_set(pattern, name.front());
    if (set) return set->matched ? std::optional<Step>(Step{set->length, 1}) : std::nullopt;
  }
  const std::size_t at = pattern.front() == '\\' && pattern.size() > 1 ? 1 : 0;
  if (pattern[at] != name.front()) return std::nullopt;
  return Step{at + 1, 1};
}

bool match_segments(const std::vector<std::string>& pattern, std::size_t at,
                    const std::vector<std::string>& path, std::size_t name) {
  if (at == pattern.size()) return name == path.size();
  if (pattern[at] == "**") {
    if (at + 1 == pattern.size()) {  // "dir/**": every file below
      return name < path.size() &&
             std::none_of(
                 path.begin() + static_cast<std::ptrdiff_t>(name), path.end(),
                 [](const std::string& part) { return part.starts_with('.'); });
    }
    if (match_segments(pattern, at + 1, path, name)) return true;
    return name < path.size() && !path[name].starts_with('.') &&
           match_segments(pattern, at, path, name + 1);
  }
  return name < path.size() && matches_segment(pattern[at], path[name]) &&
         match_segments(pattern, at + 1, path, name + 1);
}

Error broad() {
  return {Code::kInvalidArgument, "pattern_too_broad",
          "the pattern's braces make more than " + std::to_string(GlobRule::kMostExpansions) +
              " patterns"};
}

}  // namespace

bool matches_segment(std::string_view pattern, std::string_view name) {
  if (name.starts_with('.') && !pattern.starts_with('.')) return false;
  std::size_t p = 0, n = 0;
  std::size_t star = std::string_view::npos, resume = 0;
  while (n < name.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      resume = n;
      continue;
    }
    const auto step =
        p < pattern.size() ? match_one(pattern.substr(p), name.substr(n)) : std::optional<Step>();
    if (step) {
      p += step->pattern;
      n += step->name;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      n = ++resume;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

Result<std::vector<std::string>> expand_braces(std::string_view pattern, std::size_t most) {
  std::vector<std::string> done;
  std::vector<std::string> open{std::string(pattern)};
  while (!open.empty()) {
    const std::string text = std::move(open.back());
    open.pop_back();
    const auto braces = first_braces(text);
    if (!braces) {
      done.push_back(text);
    } else {
      auto ends = braces->commas;
      ends.push_back(braces->close);
      std::vector<std::string> forms;
      std::size_t begin = braces->open + 1;
      for (const std::size_t end : ends) {
        forms.push_back(text.substr(0, braces->open) + text.substr(begin, end - begin) +
                        text.substr(braces->close + 1));
        begin = end + 1;
      }
      open.insert(open.end(), forms.rbegin(), forms.rend());  // the first one is next
    }
    if (done.size() + open.size() > most) return broad();
  }
  return done;
}

Result<GlobRule> GlobRule::parse(std::string_view pattern) {
  if (pattern.empty()) {
    return Error{Code::kInvalidArgument, "invalid_pattern", "the pattern is empty", 0};
  }
  CAY_TRY(const auto texts, expand_braces(pattern, kMostExpansions));
  GlobRule rule;
  for (const auto& text : texts) {
    Form form;
    form.any_depth = text.find('/') == std::string::npos;
    form.segments = split_path(text);
    for (const auto& segment : form.segments) {
      if (segment == "..") {
        return Error{Code::kInvalidArgument, "invalid_pattern",
                     "the pattern has '..' in it: name a root instead", 0};
      }
    }
    if (text.ends_with('/')) continue;  // directories alone: no file matches
    if (!form.segments.empty()) rule.forms_.push_back(std::move(form));
  }
  return rule;
}

bool GlobRule::matches(std::string_view path) const {
  const auto parts = split_path(path);
  if (parts.empty()) return false;
  return std::any_of(forms_.begin(), forms_.end(), [&](const Form& form) {
    if (form.any_depth) return matches_segment(form.segments.front(), parts.back());
    return match_segments(form.segments, 0, parts, 0);
  });
}

std::vector<std::string> GlobRule::base_names() const {
  std::vector<std::string> out;
  for (const auto& form : forms_) {
    std::string name = form.segments.back();
    // find reads sets and backslashes in ways of its own: any name, then.
    if (name == "**" || name.find_first_of("[\\") != std::string::npos) return {};
    if (std::find(out.begin(), out.end(), name) == out.end()) out.push_back(std::move(name));
  }
  if (out.size() > 50) return {};
  return out;
}

}  // namespace cay::providers
