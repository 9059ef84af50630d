// The texts of the built-in tools: paths, pages of files, lists, matches and ends of commands.
// Pure, and the same as those of deepagents.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "providers/backend.h"

namespace cay::agent {

inline constexpr std::size_t kMostToolText = 80'000;  // characters of a result

inline constexpr std::string_view kEmptyFile =
    "System reminder: File exists but has empty contents";

// An absolute path without "." and doubled slashes. A path without a leading "/" begins at `base`.
// The error's message is for the model: "Path traversal not allowed: ../x".
Result<std::string> normal_path(std::string_view path, std::string_view base = "/");

// The page with a gutter: right-aligned numbers, two spaces, the line. Rows of a line with more
// than 5,000 characters are numbered 5, 5.1, 5.2.
std::string numbered(std::string_view text, std::uint64_t first_line);

// The answer of read_file, cut at kMostToolText on a whole line.
std::string read_text(const providers::FilePage& page, std::int64_t asked_offset);

// A Python list of strings, cut at kMostToolText. "No files found" for none.
std::string path_list(const std::vector<std::string>& paths);

enum class GrepMode : std::uint8_t { kFiles, kContent, kCount };
std::string grep_text(const providers::Found<providers::Match>& found, GrepMode mode,
                      std::string_view pattern);

std::string execute_text(const providers::Executed& ran, std::optional<double> timeout_s);

// Replaces in a file's content as edit_file does.
struct Edited {
  std::string content;
  std::size_t count = 0;
};
// The error's message is for the model, without "Error: ".
Result<Edited> edited(std::string_view content, const std::string& old_text,
                      const std::string& new_text, bool replace_all, const std::string& path);

// The MIME type of a file that is read as a whole: an image, a sound, a video, a document. Empty:
// it is read as text.
std::string_view media_type(std::string_view path);

}  // namespace cay::agent
