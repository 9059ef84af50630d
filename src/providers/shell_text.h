// Lines of sh for the file verbs, and readers of what they print. Pure.
//
// A script ends with one of kScript* where it did nothing, and with 0 otherwise.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "providers/backend.h"
#include "providers/glob_rules.h"

namespace cay::providers {

inline constexpr int kScriptNotFound = 81;
inline constexpr int kScriptNotDirectory = 82;
inline constexpr int kScriptNoPermission = 83;

// In single quotes: one word of sh, whatever is in it.
std::string shell_quoted(std::string_view text);
std::string joined_path(std::string_view directory, std::string_view name);

std::string list_script(const std::string& path);
std::string stat_script(const std::string& path);
std::string part_script(const std::string& path, std::uint64_t offset, std::uint64_t limit,
                        std::size_t most_bytes);
std::string remove_script(const std::string& path);
std::string glob_script(const std::string& root, const GlobRule& rule, std::size_t most_lines);
std::string grep_script(const std::string& root, const std::string& text, const GlobRule* rule,
                        std::size_t most_lines);

Found<FileEntry> entries_of_list(std::string_view printed, const std::string& path);
Result<FileEntry> entry_of_stat(std::string_view printed, const std::string& path);
Found<FileEntry> entries_of_glob(std::string_view printed, const std::string& root,
                                 const GlobRule& rule, std::size_t most);
Found<Match> matches_of_grep(std::string_view printed, const std::string& root,
                             const GlobRule* rule, std::size_t most);

}  // namespace cay::providers
