#include "agent/tools/permissions.h"

#include <algorithm>
#include <utility>

#include "providers/glob_rules.h"

namespace cay::agent {
namespace {

using Parts = std::vector<std::string_view>;

Parts parts_of(std::string_view path) {
  Parts out;
  while (!path.empty()) {
    const auto end = std::min(path.find('/'), path.size());
    if (end > 0) out.push_back(path.substr(0, end));
    path.remove_prefix(std::min(end + 1, path.size()));
  }
  return out;
}

// Unlike a search, a rule also covers names that begin with a dot: it must not be evaded by them.
bool matches_name(std::string_view pattern, std::string_view name) {
  if (name.starts_with('.') && !pattern.starts_with('.')) {
    if (pattern.empty() || (pattern[0] != '*' && pattern[0] != '?' && pattern[0] != '[')) {
      return false;
    }
    const std::string shown = "_" + std::string(name.substr(1));
    return providers::matches_segment(pattern, shown);
  }
  return providers::matches_segment(pattern, name);
}

bool matches(const Parts& pattern, std::size_t at, const Parts& path, std::size_t name) {
  if (at == pattern.size()) return name == path.size();
  if (pattern[at] == "**") {
    if (at + 1 == pattern.size()) return true;
    for (std::size_t skip = name; skip <= path.size(); ++skip) {
      if (matches(pattern, at + 1, path, skip)) return true;
    }
    return false;
  }
  return name < path.size() && matches_name(pattern[at], path[name]) &&
         matches(pattern, at + 1, path, name + 1);
}

// Whether the pattern may match `path` or something below it.
bool may_match(const Parts& pattern, const Parts& path) {
  for (std::size_t i = 0; i < path.size(); ++i) {
    if (i == pattern.size()) return false;
    if (pattern[i] == "**") return true;
    if (!matches_name(pattern[i], path[i])) return false;
  }
  return true;
}

bool has(const std::vector<FileOperation>& operations, FileOperation one) {
  return std::find(operations.begin(), operations.end(), one) != operations.end();
}

Error invalid_permission(const std::string& path, std::string_view why) {
  return {Code::kInvalidArgument, "invalid_permission",
          "the path '" + path + "' of a file rule " + std::string(why)};
}

}  // namespace

std::vector<FilesystemPermission> rules_on(const std::vector<std::string>& read_only,
                                           const std::vector<std::string>& hidden) {
  using enum FileOperation;
  std::vector<FilesystemPermission> out;
  for (const auto& path : hidden)
    out.push_back({{kRead, kWrite}, {path + "/**"}, FileVerdict::kDeny});
  for (const auto& path : read_only) out.push_back({{kWrite}, {path + "/**"}, FileVerdict::kDeny});
  return out;
}

Result<FilePermissions> FilePermissions::create(std::vector<FilesystemPermission> rules) {
  FilePermissions out;
  for (auto& rule : rules) {
    Rule made{std::move(rule.operations), {}, rule.verdict};
    for (const auto& path : rule.paths) {
      if (!path.starts_with('/')) return invalid_permission(path, "is not absolute");
      for (const auto part : parts_of(path)) {
        if (part == ".." || part.starts_with('~')) {
          return invalid_permission(path, "has '..' or '~' in it");
        }
      }
      CAY_TRY(auto patterns, providers::expand_braces(path, providers::GlobRule::kMostExpansions));
      made.patterns.insert(made.patterns.end(), patterns.begin(), patterns.end());
    }
    out.rules_.push_back(std::move(made));
  }
  return out;
}

FileVerdict FilePermissions::verdict(FileOperation operation, std::string_view path) const {
  const Parts parts = parts_of(path);
  for (const auto& rule : rules_) {
    if (!has(rule.operations, operation)) continue;
    for (const auto& pattern : rule.patterns) {
      if (matches(parts_of(pattern), 0, parts, 0)) return rule.verdict;
    }
  }
  return FileVerdict::kAllow;
}

bool FilePermissions::may_match_below(FileVerdict verdict, FileOperation operation,
                                      std::string_view path) const {
  const Parts parts = parts_of(path);
  for (const auto& rule : rules_) {
    if (rule.verdict != verdict || !has(rule.operations, operation)) continue;
    for (const auto& pattern : rule.patterns) {
      if (may_match(parts_of(pattern), parts)) return true;
    }
  }
  return false;
}

bool FilePermissions::may_deny_below(FileOperation operation, std::string_view path) const {
  return may_match_below(FileVerdict::kDeny, operation, path);
}

bool FilePermissions::asks(FileOperation operation, std::string_view path, bool below) const {
  if (below) return may_match_below(FileVerdict::kAsk, operation, path);
  return verdict(operation, path) == FileVerdict::kAsk;
}

}  // namespace cay::agent
