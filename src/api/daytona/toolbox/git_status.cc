#include "api/daytona/toolbox/git_status.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/ascii.h"
#include "base/lines.h"

namespace cay::api::daytona {
namespace {

constexpr std::size_t kOrdinaryFields = 8;  // before the path
constexpr std::size_t kRenamedFields = 9;
constexpr std::size_t kUnmergedFields = 10;

// Takes what stands before `mark` off the text.
std::string_view taken_until(std::string_view& text, char mark) {
  const std::size_t end = std::min(text.find(mark), text.size());
  const std::string_view out = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return out;
}

const char* word_of(char letter) {
  switch (letter) {
    case 'M':
    case 'T': return "Modified";
    case 'A': return "Added";
    case 'D': return "Deleted";
    case 'R': return "Renamed";
    case 'C': return "Copied";
    case 'U': return "Updated but unmerged";
    case '?': return "Untracked";
    default: return "Unmodified";
  }
}

codec::json::object file_status(std::string_view name, std::string_view letters,
                                std::string_view extra) {
  return {{"name", codec::text(name)},
          {"staging", word_of(letters.empty() ? '.' : letters[0])},
          {"worktree", word_of(letters.size() < 2 ? '.' : letters[1])},
          {"extra", codec::text(extra)}};
}

std::int64_t number_of(std::string_view text) {
  std::int64_t out = 0;
  std::from_chars(text.data(), text.data() + text.size(), out);
  return out;
}

void read_header(std::string_view line, codec::json::object& out) {
  const std::string_view name = taken_until(line, ' ');
  if (name == "branch.head") {
    const bool detached = line == "(detached)";
    out["currentBranch"] = codec::text(detached ? "HEAD" : line);
    out["detached"] = detached;
  } else if (name == "branch.upstream") {
    out["upstream"] = codec::text(line);
    out["branchPublished"] = true;
  } else if (name == "branch.ab") {
    std::string_view ahead = taken_until(line, ' ');
    if (ahead.starts_with('+')) ahead.remove_prefix(1);
    if (line.starts_with('-')) line.remove_prefix(1);
    out["ahead"] = number_of(ahead);
    out["behind"] = number_of(line);
  }
}

}  // namespace

codec::json::object git_status_json(std::string_view text) {
  codec::json::object out{{"currentBranch", ""},
                          {"detached", false},
                          {"branchPublished", false},
                          {"ahead", 0},
                          {"behind", 0}};
  codec::json::array files;
  while (!text.empty()) {
    std::string_view line = taken_until(text, '\0');
    const std::string_view kind = taken_until(line, ' ');
    if (kind == "#") {
      read_header(line, out);
      continue;
    }
    if (kind == "?") {
      files.emplace_back(file_status(line, "??", ""));
      continue;
    }
    const std::size_t before = kind == "1"   ? kOrdinaryFields
                               : kind == "2" ? kRenamedFields
                               : kind == "u" ? kUnmergedFields
                                             : 0;
    if (before == 0) continue;
    const std::string_view letters = taken_until(line, ' ');
    for (std::size_t i = 2; i < before; ++i) taken_until(line, ' ');
    const std::string_view old = kind == "2" ? taken_until(text, '\0') : std::string_view();
    files.emplace_back(file_status(line, kind == "u" ? "UU" : letters, old));
  }
  out["fileStatus"] = std::move(files);
  return out;
}

codec::json::array git_log_json(std::string_view text) {
  codec::json::array out;
  for (;;) {
    text = text.substr(std::min(text.find_first_not_of('\n'), text.size()));
    if (text.empty()) return out;
    codec::json::object commit;
    for (const char* name : {"hash", "author", "email", "timestamp"})
      commit[name] = codec::text(taken_until(text, '\0'));
    commit["message"] = codec::text(taken_until(text, '\0'));
    out.emplace_back(std::move(commit));
  }
}

codec::json::array git_remotes_json(std::string_view text) {
  codec::json::array out;
  for (std::string_view line : lines_of(text)) {
    if (!line.ends_with(" (fetch)")) continue;
    const std::string_view name = taken_until(line, '\t');
    const std::string_view url = line.substr(0, line.rfind(' '));
    out.emplace_back(codec::json::object{{"name", codec::text(name)}, {"url", codec::text(url)}});
  }
  return out;
}

}  // namespace cay::api::daytona
