// The file verbs over a shell, for providers that have no better way.
#include "providers/backend.h"

#include <algorithm>

#include "providers/glob_rules.h"
#include "providers/shell_text.h"
#include "providers/text_page.h"

namespace cay::providers {
namespace {

constexpr std::uint64_t kMostDownloaded = 1 << 20;  // a larger file is read in parts
constexpr std::size_t kMostGlob = 10'000;
constexpr std::size_t kMostLines = 100'000;  // that a search prints
constexpr std::size_t kMostPrinted = 32u << 20;
constexpr double kGlobSeconds = 5;
constexpr double kGrepSeconds = 15;
constexpr double kFileSeconds = 30;

Error path_error(Code code, std::string_view reason, const std::string& path,
                 std::string_view words) {
  return {code, std::string(reason), "'" + path + "' " + std::string(words)};
}

Error of_status(int status, const std::string& path, const std::string& printed) {
  switch (status) {
    case kScriptNotFound:
      return Error{Code::kNotFound, "file_not_found", "'" + path + "' does not exist", 0};
    case kScriptNotDirectory:
      return Error{Code::kInvalidArgument, "not_a_directory", "'" + path + "' is not a directory",
                   0};
    case kScriptNoPermission:
      return Error{Code::kPermissionDenied, "permission_denied", "'" + path + "' may not be read",
                   0};
    default: break;
  }
  return Error{Code::kInternal, "file_verb_failed",
               "a shell that looked at '" + path + "' ended with " + std::to_string(status) + ": " +
                   printed.substr(0, 300),
               0};
}

Result<void> check_absolute(const std::string& path) {
  if (path.starts_with('/') && path.find('\0') == std::string::npos) return {};
  return path_error(Code::kInvalidArgument, "invalid_path", path, "is not an absolute path");
}

// Runs a script of shell_text.h. A time limit is no failure: what was printed counts.
Task<std::string> run_script(Shell& shell, std::string script, std::string path, double seconds) {
  ExecuteOptions options;
  options.timeout_s = seconds;
  options.keep = kMostPrinted;
  auto ran = co_await shell.execute(std::move(script), std::move(options));
  if (!ran) co_return std::move(ran).error();
  if (ran->truncated) {  // the beginning alone: a note stands between it and the end
    ran->output.resize(std::min(ran->output.size(), kMostPrinted / 4));
    ran->output.resize(ran->output.rfind('\n') + 1);
  }
  if (ran->state == "timed_out") co_return std::move(ran->output);
  if (!ran->exit_code) {
    co_return Error{Code::kUnavailable, "file_verb_lost",
                    "a shell that looked at '" + path + "' ended as " + ran->state, 0};
  }
  if (*ran->exit_code != 0) co_return of_status(*ran->exit_code, path, ran->output);
  co_return std::move(ran->output);
}

std::string without_slash(std::string path) {
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  return path;
}

Error of_file_error(const std::string& word, const std::string& path) {
  if (word == "file_not_found") return of_status(kScriptNotFound, path, {});
  if (word == "permission_denied") return of_status(kScriptNoPermission, path, {});
  return path_error(Code::kInvalidArgument, "not_a_regular_file", path, "is not a regular file");
}

Task<FilePage> read_whole(Shell& shell, std::string path, std::uint64_t offset,
                          std::uint64_t limit) {
  std::vector<std::string> paths{path};
  auto got = co_await shell.download(std::move(paths));
  if (!got) co_return std::move(got).error();
  if (got->size() != 1 || !got->front().content) {
    co_return of_file_error(got->empty() ? std::string() : got->front().error, path);
  }
  co_return page_of(*got->front().content, offset, limit);
}

Task<FilePage> read_part(Shell& shell, std::string path, std::uint64_t size, std::uint64_t offset,
                         std::uint64_t limit) {
  auto printed =
      co_await run_script(shell, part_script(path, offset, limit, kMostPage), path, kFileSeconds);
  if (!printed) co_return std::move(printed).error();
  auto page = page_of_part(*printed, offset, limit, size);
  if (page.binary || page.first_line != 0 || limit == 0) co_return page;
  auto counted = co_await run_script(shell, "wc -l < " + shell_quoted(path), path, kFileSeconds);
  if (!counted) co_return std::move(counted).error();
  co_return offset_past_end(offset, std::strtoull(counted->c_str(), nullptr, 10));
}

Error lacks(std::string_view provider, std::string_view what) {
  return {Code::kUnsupported, "verb_unsupported",
          "sandboxes of the provider '" + std::string(provider) + "' have no " + std::string(what)};
}

}  // namespace

int Executed::shell_exit_code() const {
  if (exit_code) return *exit_code;
  if (state == "timed_out" || state == "idle_killed") return 124;
  if (signal) return 128 + *signal;
  if (state == "oom_killed" || state == "killed" || state == "signalled") return 137;
  return 125;
}

Task<Found<FileEntry>> FileVerbs::list(std::string path) {
  CAY_CO_CHECK(check_absolute(path));
  path = without_slash(std::move(path));
  auto printed = co_await run_script(*this, list_script(path), path, kFileSeconds);
  if (!printed) co_return std::move(printed).error();
  co_return entries_of_list(*printed, path);
}

Task<FileEntry> FileVerbs::stat(std::string path) {
  CAY_CO_CHECK(check_absolute(path));
  auto printed = co_await run_script(*this, stat_script(path), path, kFileSeconds);
  if (!printed) co_return std::move(printed).error();
  co_return entry_of_stat(*printed, path);
}

Task<FilePage> FileVerbs::read(std::string path, std::uint64_t offset, std::uint64_t limit) {
  auto found = co_await stat(path);
  if (!found) co_return std::move(found).error();
  if (found->is_directory) {
    co_return path_error(Code::kInvalidArgument, "not_a_regular_file", path, "is a directory");
  }
  if (found->size <= kMostDownloaded) {
    auto page = co_await read_whole(*this, std::move(path), offset, limit);
    co_return page;
  }
  auto page = co_await read_part(*this, std::move(path), found->size, offset, limit);
  co_return page;
}

Task<Found<FileEntry>> FileVerbs::glob(std::string pattern, std::string root) {
  CAY_CO_CHECK(check_absolute(root));
  CAY_CO_TRY(const auto rule, GlobRule::parse(pattern));
  root = without_slash(std::move(root));
  auto printed =
      co_await run_script(*this, glob_script(root, rule, kMostLines), root, kGlobSeconds);
  if (!printed) co_return std::move(printed).error();
  co_return entries_of_glob(*printed, root, rule, kMostGlob);
}

Task<Found<Match>> FileVerbs::grep(std::string text, std::string root, std::string glob,
                                   std::size_t most) {
  CAY_CO_CHECK(check_absolute(root));
  std::optional<GlobRule> rule;
  if (!glob.empty()) {
    CAY_CO_TRY(rule, GlobRule::parse(glob));
  }
  if (text.find('\n') != std::string::npos) co_return Found<Match>{};  // no line has one
  root = without_slash(std::move(root));
  const GlobRule* const filter = rule ? &*rule : nullptr;
  // A filter with directories drops some of what is printed.
  const std::size_t lines = filter == nullptr ? most + 2 : kMostLines;
  auto printed =
      co_await run_script(*this, grep_script(root, text, filter, lines), root, kGrepSeconds);
  if (!printed) co_return std::move(printed).error();
  co_return matches_of_grep(*printed, root, filter, most);
}

Task<void> FileVerbs::remove(std::string path) {
  CAY_CO_CHECK(check_absolute(path));
  auto printed = co_await run_script(*this, remove_script(path), path, kFileSeconds);
  if (!printed) co_return std::move(printed).error();
  co_return Result<void>();
}

const PathRules& Backend::path_rules() const {
  static const PathRules kNone;
  return kNone;
}

Result<void> refuse_paths(const SandboxRequest& request, std::string_view provider) {
  if (request.paths.empty()) return {};
  return Error{Code::kUnsupported, "permissions_need_mounts",
               "file rules do not bind the shell of the provider '" + std::string(provider) +
                   "', so a command could go round them: leave them out, or ask for execute",
               0};
}

Task<std::string> Backend::start(std::string, ExecuteOptions) {
  co_return lacks(provider(), "commands in the background");
}
Task<Running> Backend::poll(std::string, std::uint64_t, double) {
  co_return lacks(provider(), "commands in the background");
}
Task<void> Backend::write_input(std::string, std::string, bool) {
  co_return lacks(provider(), "commands in the background");
}
Task<void> Backend::kill(std::string) { co_return lacks(provider(), "commands in the background"); }
Task<Executed> Backend::stop(std::string, std::size_t) {
  co_return lacks(provider(), "way to end a command");
}
Task<std::string> Backend::checkpoint(std::string) { co_return lacks(provider(), "checkpoints"); }
Task<void> Backend::restore(std::string) { co_return lacks(provider(), "checkpoints"); }
Task<CodeRun> Backend::run_code(CodeRequest) {
  co_return lacks(provider(), "run_code: use execute");
}

Task<std::unique_ptr<Backend>> Provider::fork(std::string, std::string) {
  co_return Error{Code::kUnsupported, "verb_unsupported",
                  "this provider cannot fork sandboxes: open a new one", 0};
}

}  // namespace cay::providers
