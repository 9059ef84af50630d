// glob and grep.
#include <algorithm>
#include <utility>

#include "agent/tools/arguments.h"
#include "agent/tools/kit.h"
#include "agent/tools/tool_text.h"

namespace cay::agent {
namespace {

std::string search_root(const Kit& kit, Arguments& arguments) {
  if (!arguments.has("path")) return kit.base;
  auto path = normal_path(arguments.text_or("path", {}), kit.base);
  if (!path) {
    arguments.complain(path.error().message);
    return {};
  }
  if (kit.permissions.verdict(FileOperation::kRead, *path) != FileVerdict::kAllow) {
    arguments.complain("permission denied for read on " + *path);
  }
  return *std::move(path);
}

std::string search_fault(const Error& error, const std::string& root) {
  std::string word = error.message;
  if (error.code == Code::kNotFound) word = "path_not_found";
  if (error.code == Code::kPermissionDenied) word = "permission_denied";
  if (error.reason == "not_a_directory" || error.reason == "invalid_pattern" ||
      error.reason == "pattern_too_broad") {
    word = error.reason;
  }
  return "Path '" + root + "': " + word;
}

template <class T>
void keep_allowed(const Kit& kit, std::vector<T>& entries) {
  std::erase_if(entries, [&](const T& entry) {
    return kit.permissions.verdict(FileOperation::kRead, entry.path) != FileVerdict::kAllow;
  });
}

Task<ToolResult> run_glob(KitPtr kit, json::object from, ToolContext) {
  Arguments arguments(from);
  const auto pattern = arguments.text("pattern");
  const auto root = search_root(*kit, arguments);
  if (!arguments.fault().empty()) co_return refused(arguments.fault());
  auto found = co_await kit->backend->glob(pattern, root);
  if (!found) {
    if (is_infrastructure(found.error())) co_return std::move(found).error();
    co_return refused(search_fault(found.error(), root));
  }
  keep_allowed(*kit, found->entries);
  std::vector<std::string> paths;
  for (auto& entry : found->entries) paths.push_back(std::move(entry.path));
  auto text = path_list(paths);
  if (found->truncated) {
    text +=
        "\n\nNote: the search stopped early at its limit of time or size, or a directory could not "
        "be read. The paths above are valid but incomplete.";
  }
  co_return ToolResult::of(std::move(text));
}

Task<ToolResult> run_grep(KitPtr kit, json::object from, ToolContext) {
  Arguments arguments(from);
  const auto pattern = arguments.text("pattern");
  const auto root = search_root(*kit, arguments);
  const auto glob = arguments.text_or("glob", {});
  const auto mode = arguments.text_or("output_mode", "files_with_matches");
  const auto most =
      arguments.number_or("max_count", static_cast<std::int64_t>(kit->options.grep_max_count));
  if (most <= 0) arguments.complain("max_count must be greater than 0");
  if (mode != "files_with_matches" && mode != "content" && mode != "count") {
    arguments.complain("output_mode is files_with_matches, content or count");
  }
  if (!arguments.fault().empty()) co_return refused(arguments.fault());
  auto found = co_await kit->backend->grep(pattern, root, glob, static_cast<std::size_t>(most));
  if (!found) {
    if (is_infrastructure(found.error())) co_return std::move(found).error();
    if (found.error().code != Code::kNotFound) {
      co_return refused(search_fault(found.error(), root));
    }
    found = providers::Found<providers::Match>{};
  }
  keep_allowed(*kit, found->entries);
  const auto as = mode == "content" ? GrepMode::kContent
                  : mode == "count" ? GrepMode::kCount
                                    : GrepMode::kFiles;
  co_return ToolResult::of(grep_text(*found, as, pattern));
}

}  // namespace

void add_search_tools(Tools& tools, const KitPtr& kit) {
  tools.push_back(built_in(
      kit,
      {"glob",
       "Finds files of the sandbox by a pattern, and returns their absolute paths, sorted. A "
       "pattern without a slash matches names at any depth: `*.py`. One with a slash matches the "
       "path below `path`: `src/**/*.py`. Names that begin with a dot need a pattern that does.",
       Schema()
           .text("pattern", "Pattern with *, **, ?, [abc] and {a,b}")
           .text("path", "Absolute path of the directory to search (default: the root)", false)
           .take()},
      Repeat::kYes, run_glob));
  tools.push_back(built_in(
      kit,
      {"grep",
       "Searches the files of the sandbox for a literal text. It is no regular expression: search "
       "once for each alternative.",
       Schema()
           .text("pattern", "The text to find, as it is")
           .text("path", "Absolute path of the file or directory to search (default: the root)",
                 false)
           .text("glob", "Searches only files that match it, such as *.py", false)
           .choice("output_mode",
                   "files_with_matches: paths (default). content: lines with their numbers. count: "
                   "how many for each file",
                   {"files_with_matches", "content", "count"})
           .number("max_count", "The most matches in all (default " +
                                    std::to_string(kit->options.grep_max_count) + ")")
           .take()},
      Repeat::kYes, run_grep));
}

}  // namespace cay::agent
