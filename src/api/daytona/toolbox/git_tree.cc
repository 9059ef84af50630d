#include <algorithm>
#include <array>

#include "api/daytona/toolbox/errors.h"
#include "api/daytona/toolbox/git.h"
#include "api/daytona/toolbox/git_run.h"
#include "api/daytona/toolbox/git_status.h"
#include "base/ascii.h"

namespace cay::api::daytona {
namespace {

constexpr std::size_t kMostGitFiles = 10'000;
constexpr std::array<std::string_view, 5> kResetModes{"soft", "mixed", "hard", "merge", "keep"};

void read_needed(codec::Fields& fields, std::string_view name, std::string& out) {
  if (!fields.read(name, out) || out.empty()) fields.complain(name, "is required");
}

void read_files(codec::Fields& fields, std::vector<std::string>& out) {
  if (!fields.read("files", out, kMostGitFiles) || out.empty())
    fields.complain("files", "is required");
}

std::vector<std::string> with_files(std::vector<std::string> args,
                                    const std::vector<std::string>& files) {
  args.emplace_back("--");
  args.insert(args.end(), files.begin(), files.end());
  return args;
}

}  // namespace

Task<http::Response> git_status(core::Cay& cay, ExchangePtr exchange) {
  CAY_CO_TRY(const std::string path, needed_query(exchange, "path"));
  CAY_CO_TRY(const Box box, co_await box_of(cay, exchange));
  GitCall call{.args = {"status", "--porcelain=v2", "--branch", "-z", "--untracked-files=all"},
               .directory = box.absolute(path)};
  CAY_CO_TRY(const std::string text, co_await run_git(cay, box, std::move(call)));
  co_return json_answer(200, git_status_json(text));
}

Task<http::Response> git_add(core::Cay& cay, ExchangePtr exchange) {
  CAY_CO_TRY(const auto body, co_await toolbox_body(exchange));
  codec::Fields fields(body);
  std::string path;
  std::vector<std::string> files;
  read_needed(fields, "path", path);
  read_files(fields, files);
  CAY_CO_CHECK(checked_body(fields));
  CAY_CO_TRY(const Box box, co_await box_of(cay, exchange));
  GitCall call{.args = with_files({"add"}, files), .directory = box.absolute(path)};
  CAY_CO_TRY(RanProgram ran, co_await try_git(cay, box, std::move(call)));
  if (const int exit_code = ran.exit_code; exit_code != 0) {
    if (ran.err.find("did not match any file") != std::string::npos)
      co_return vendor_error(kFileNotFound, std::string(trimmed(ran.err, "\n")));
    co_return git_failure(ran.err, exit_code);
  }
  co_return empty_answer(200);
}

Task<http::Response> git_commit(core::Cay& cay, ExchangePtr exchange) {
  CAY_CO_TRY(const auto body, co_await toolbox_body(exchange));
  codec::Fields fields(body);
  std::string path, message, author, email;
  bool allow_empty = false;
  read_needed(fields, "path", path);
  read_needed(fields, "message", message);
  read_needed(fields, "author", author);
  read_needed(fields, "email", email);
  fields.read("allow_empty", allow_empty);
  CAY_CO_CHECK(checked_body(fields));
  CAY_CO_TRY(const Box box, co_await box_of(cay, exchange));
  GitCall call{.args = {"commit", "--quiet", "--file=-"}, .directory = box.absolute(path)};
  if (allow_empty) call.args.emplace_back("--allow-empty");
  call.input = std::move(message);
  call.env = {{"GIT_AUTHOR_NAME", author},
              {"GIT_AUTHOR_EMAIL", email},
              {"GIT_COMMITTER_NAME", author},
              {"GIT_COMMITTER_EMAIL", email}};
  CAY_CO_TRY(const std::string committed, co_await run_git(cay, box, std::move(call)));
  static_cast<void>(committed);
  GitCall head{.args = {"rev-parse", "HEAD"}, .directory = box.absolute(path)};
  CAY_CO_TRY(const std::string hash, co_await run_git(cay, box, std::move(head)));
  co_return json_answer(200, codec::json::object{{"hash", codec::text(trimmed(hash, "\n"))}});
}

Task<http::Response> git_history(core::Cay& cay, ExchangePtr exchange) {
  CAY_CO_TRY(const std::string path, needed_query(exchange, "path"));
  CAY_CO_TRY(const Box box, co_await box_of(cay, exchange));
  GitCall call{.args = {"log", kGitLogFormat}, .directory = box.absolute(path)};
  CAY_CO_TRY(RanProgram ran, co_await try_git(cay, box, std::move(call)));
  const int exit_code = ran.exit_code;
  // Before the first commit there is no history.
  if (exit_code != 0 && ran.err.find("does not have any commits") == std::string::npos)
    co_return git_failure(ran.err, exit_code);
  co_return json_answer(200, git_log_json(ran.out));
}

Task<http::Response> git_reset(core::Cay& cay, ExchangePtr exchange) {
  CAY_CO_TRY(const auto body, co_await toolbox_body(exchange));
  codec::Fields fields(body);
  std::string path, mode, target;
  std::vector<std::string> files;
  read_needed(fields, "path", path);
  fields.read("mode", mode);
  fields.read("target", target);
  fields.read("files", files, kMostGitFiles);
  if (!mode.empty() && std::ranges::find(kResetModes, mode) == kResetModes.end())
    fields.complain("mode", "is soft, mixed, hard, merge or keep");
  if (!mode.empty() && !files.empty()) fields.complain("files", "cannot have a mode");
  CAY_CO_CHECK(checked_body(fields));
  if (!target.empty()) {
    CAY_CO_CHECK(check_git_name(target, "target"));
  }
  CAY_CO_TRY(const Box box, co_await box_of(cay, exchange));
  std::vector<std::string> args{"reset", "--quiet"};
  if (!mode.empty()) args.push_back("--" + mode);
  if (!target.empty()) args.push_back(target);
  GitCall call{.args = with_files(std::move(args), files), .directory = box.absolute(path)};
  CAY_CO_TRY(const std::string done, co_await run_git(cay, box, std::move(call)));
  static_cast<void>(done);
  co_return empty_answer(200);
}

Task<http::Response> git_restore(core::Cay& cay, ExchangePtr exchange) {
  CAY_CO_TRY(const auto body, co_await toolbox_body(exchange));
  codec::Fields fields(body);
  std::string path, source;
  std::vector<std::string> files;
  bool staged = false, worktree = false;
  read_needed(fields, "path", path);
  read_files(fields, files);
  fields.read("staged", staged);
  fields.read("worktree", worktree);
  fields.read("source", source);
  CAY_CO_CHECK(checked_body(fields));
  CAY_CO_TRY(const Box box, co_await box_of(cay, exchange));
  std::vector<std::string> args{"restore"};
  if (staged) args.emplace_back("--staged");
  if (worktree) args.emplace_back("--worktree");
  if (!source.empty()) args.push_back("--source=" + source);
  GitCall call{.args = with_files(std::move(args), files), .directory = box.absolute(path)};
  CAY_CO_TRY(const std::string done, co_await run_git(cay, box, std::move(call)));
  static_cast<void>(done);
  co_return empty_answer(200);
}

Task<http::Response> git_init(core::Cay& cay, ExchangePtr exchange) {
  CAY_CO_TRY(const auto body, co_await toolbox_body(exchange));
  codec::Fields fields(body);
  std::string path, branch;
  bool bare = false;
  read_needed(fields, "path", path);
  fields.read("initial_branch", branch);
  fields.read("bare", bare);
  CAY_CO_CHECK(checked_body(fields));
  CAY_CO_TRY(const Box box, co_await box_of(cay, exchange));
  GitCall call{.args = {"init", "--quiet"}};
  if (bare) call.args.emplace_back("--bare");
  if (!branch.empty()) call.args.push_back("--initial-branch=" + branch);
  call.args.emplace_back("--");
  call.args.push_back(box.absolute(path));
  CAY_CO_TRY(const std::string done, co_await run_git(cay, box, std::move(call)));
  static_cast<void>(done);
  co_return empty_answer(201);
}

}  // namespace cay::api::daytona
