#include "providers/shell_text.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <tuple>

namespace cay::providers {
namespace {

constexpr std::size_t kMostText = 4096;  // bytes of a matching line that are printed

bool take_line(std::string_view& text, std::string_view& line) {
  if (text.empty()) return false;
  const auto end = text.find('\n');
  line = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return true;
}

std::string failing(std::string_view test, int status) {
  return "[ " + std::string(test) + " ] || exit " + std::to_string(status) + "\n";
}

std::string checked_directory(const std::string& path) {
  return "p=" + shell_quoted(path) + "\n" + failing("-e \"$p\" ", kScriptNotFound) +
         failing("-d \"$p\" ", kScriptNotDirectory) + failing("-r \"$p\" ", kScriptNoPermission) +
         failing("-x \"$p\" ", kScriptNoPermission);
}

// find's walk of "$p". The kernel's own trees have no files of the user.
std::string walk_of(const std::string& root) {
  std::string out = "find -H \"$p\" ";
  if (root == "/") {
    out += "\\( -path /proc -o -path /sys -o -path /dev \\) -prune -o ";
  }
  return out;
}

std::string name_tests(const GlobRule* rule) {
  const auto names = rule == nullptr ? std::vector<std::string>{} : rule->base_names();
  if (names.empty()) return {};
  std::string out = "\\( ";
  for (const auto& name : names) {
    if (out.size() > 3) out += "-o ";
    out += "-name " + shell_quoted(name) + " ";
  }
  return out + "\\) ";
}

// The last line of glob and grep scripts is "=" and the status of find.
std::string counted(const std::string& find, std::size_t most_lines) {
  return "{ " + find + "2>/dev/null; echo \"=$?\"; } | head -n " + std::to_string(most_lines) +
         "\n";
}

// The path below the root; nothing: it is not below it.
std::optional<std::string_view> below(std::string_view path, std::string_view root) {
  if (!path.starts_with(root)) return std::nullopt;
  path.remove_prefix(root.size());
  if (root.ends_with('/')) return path;
  if (path.empty()) return path;
  if (path.front() != '/') return std::nullopt;
  return path.substr(1);
}

// "PATH:LINE:TEXT". A path may have colons: the first number between two of them is the line.
std::optional<Match> match_of(std::string_view line) {
  for (auto colon = line.find(':'); colon != std::string_view::npos;
       colon = line.find(':', colon + 1)) {
    std::uint64_t number = 0;
    const char* const begin = line.data() + colon + 1;
    const char* const end = line.data() + line.size();
    const auto got = std::from_chars(begin, end, number);
    if (got.ec == std::errc() && got.ptr != end && *got.ptr == ':') {
      const auto text = static_cast<std::size_t>(got.ptr - line.data()) + 1;
      return Match{std::string(line.substr(0, colon)), number, std::string(line.substr(text))};
    }
  }
  return std::nullopt;
}

void sort_by_path(std::vector<FileEntry>& entries) {
  std::sort(entries.begin(), entries.end(),
            [](const FileEntry& a, const FileEntry& b) { return a.path < b.path; });
}

}  // namespace

std::string shell_quoted(std::string_view text) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'') {
      out += "'\\''";
    } else {
      out += c;
    }
  }
  return out + "'";
}

std::string joined_path(std::string_view directory, std::string_view name) {
  std::string out(directory);
  if (!out.ends_with('/')) out += '/';
  return out.append(name);
}

std::string list_script(const std::string& path) {
  return checked_directory(path) +
         "find \"$p/.\" ! -name . -prune \\( -type d -exec printf 'd %s\\n' {} + -o "
         "-exec printf 'n %s\\n' {} + \\)\n";
}

std::string stat_script(const std::string& path) {
  return "p=" + shell_quoted(path) + "\n" + failing("-e \"$p\" ", kScriptNotFound) +
         "if [ -d \"$p\" ]; then echo d 0\n"
         "elif [ -f \"$p\" ]; then\n" +
         failing("-r \"$p\" ", kScriptNoPermission) +
         "printf 'f '; wc -c < \"$p\"\n"
         "else echo o 0; fi\n";
}

std::string part_script(const std::string& path, std::uint64_t offset, std::uint64_t limit,
                        std::size_t most_bytes) {
  return "tail -n +" + std::to_string(offset + 1) + " " + shell_quoted(path) + " | head -n " +
         std::to_string(limit) + " | head -c " + std::to_string(most_bytes) + "\n";
}

std::string remove_script(const std::string& path) {
  return "p=" + shell_quoted(path) + "\n" + "[ -e \"$p\" ] || [ -L \"$p\" ] || exit " +
         std::to_string(kScriptNotFound) + "\n" + "rm -rf \"$p\" 2>&1\n";
}

std::string glob_script(const std::string& root, const GlobRule& rule, std::size_t most_lines) {
  // A link counts as a file if it leads to one below the root.
  const std::string links =
      "-exec sh -c 'r=$(cd \"$0\" && pwd -P); for l; do [ -f \"$l\" ] || continue; "
      "t=$(readlink -f \"$l\") || continue; "
      "case \"$t\" in \"${r%/}\"/*) printf \"%s\\n\" \"$l\";; esac; done' \"$p\" {} + ";
  return checked_directory(root) + counted(walk_of(root) + name_tests(&rule) +
                                               "\\( -type f -print -o -type l " + links + "\\) ",
                                           most_lines);
}

std::string grep_script(const std::string& root, const std::string& text, const GlobRule* rule,
                        std::size_t most_lines) {
  return "p=" + shell_quoted(root) + "\n" + failing("-e \"$p\" ", kScriptNotFound) +
         counted(walk_of(root) + name_tests(rule) + "-type f -exec grep -IHnF -e " +
                     shell_quoted(text) + " -- {} + ",
                 most_lines);
}

Found<FileEntry> entries_of_list(std::string_view printed, const std::string& path) {
  Found<FileEntry> found;
  std::string_view line;
  const std::string prefix = path + "/./";
  while (take_line(printed, line)) {
    if (line.size() < 3 || line[1] != ' ') continue;
    const bool directory = line[0] == 'd';
    line.remove_prefix(2);
    if (!line.starts_with(prefix)) continue;
    line.remove_prefix(prefix.size());
    found.entries.push_back({joined_path(path, line), directory, 0, {}});
  }
  sort_by_path(found.entries);
  return found;
}

Result<FileEntry> entry_of_stat(std::string_view printed, const std::string& path) {
  FileEntry entry{path, printed.starts_with('d'), 0, {}};
  const auto digit = printed.find_first_of("0123456789");
  if (digit != std::string_view::npos && printed.size() > 2 &&
      (printed[0] == 'd' || printed[0] == 'f')) {
    std::from_chars(printed.data() + digit, printed.data() + printed.size(), entry.size);
    return entry;
  }
  return Error{Code::kInvalidArgument, "not_a_regular_file", "'" + path + "' is not a regular file",
               0};
}

Found<FileEntry> entries_of_glob(std::string_view printed, const std::string& root,
                                 const GlobRule& rule, std::size_t most) {
  Found<FileEntry> found;
  found.truncated = true;  // until find's own end is read
  std::string_view line;
  while (take_line(printed, line)) {
    if (line.starts_with('=')) {
      found.truncated = line != "=0";
      continue;
    }
    const auto relative = below(line, root);
    if (!relative || !rule.matches(*relative)) continue;
    found.entries.push_back({std::string(line), false, 0, {}});
  }
  sort_by_path(found.entries);
  if (found.entries.size() > most) {
    found.entries.resize(most);
    found.truncated = true;
  }
  return found;
}

Found<Match> matches_of_grep(std::string_view printed, const std::string& root,
                             const GlobRule* rule, std::size_t most) {
  Found<Match> found;
  found.truncated = true;  // until find's own end is read
  std::string_view line;
  while (take_line(printed, line)) {
    if (line.starts_with('=')) {
      found.truncated = false;  // grep's own status is 1 where it found nothing
      continue;
    }
    auto match = match_of(line);
    if (!match) continue;
    const auto relative = below(match->path, root);
    if (!relative) continue;
    const auto slash = root.rfind('/');
    const std::string_view filtered =
        relative->empty() ? std::string_view(root).substr(slash + 1) : *relative;
    if (rule != nullptr && !rule->matches(filtered)) continue;
    if (match->text.ends_with('\r')) match->text.pop_back();
    if (match->text.size() > kMostText) match->text.resize(kMostText);
    if (found.entries.size() == most) {
      found.truncated = true;
      break;
    }
    found.entries.push_back(*std::move(match));
  }
  std::sort(found.entries.begin(), found.entries.end(), [](const Match& a, const Match& b) {
    return std::tie(a.path, a.line) < std::tie(b.path, b.line);
  });
  return found;
}

}  // namespace cay::providers
