#include <utility>

#include "api/daytona/toolbox/errors.h"
#include "api/daytona/toolbox/git.h"
#include "api/daytona/toolbox/git_run.h"
#include "api/daytona/toolbox/git_status.h"
#include "base/ascii.h"

namespace cay::api::daytona {
namespace {

constexpr std::int64_t kDeepestClone = 1'000'000'000;

std::optional<GitLogin> login_of(codec::Fields& fields) {
  GitLogin out;
  fields.read("username", out.username);
  fields.read("password", out.password);
  if (out.username.empty() && out.password.empty()) return std::nullopt;
  return out;
}

// A push or a pull.
struct RemoteRequest {
  std::string path, remote, branch;
  std::optional<GitLogin> login;
  bool set_upstream = false;
};

Result<RemoteRequest> remote_request_of(const codec::json::object& body) {
  codec::Fields fields(body);
  RemoteRequest out;
  if (!fields.read("path", out.path) || out.path.empty()) fields.complain("path", "is required");
  fields.read("remote", out.remote);
  fields.read("branch", out.branch);
  fields.read("set_upstream", out.set_upstream);
  out.login = login_of(fields);
  CAY_CHECK(checked_body(fields));
  for (const std::string* name : {&out.remote, &out.branch}) {
    if (name->empty()) continue;
    CAY_CHECK(check_git_name(*name, "a remote's or branch's name"));
  }
  return out;
}

Task<std::string> current_branch(core::Cay& cay, Box box, std::string directory) {
  GitCall call{.args = {"symbolic-ref", "--quiet", "--short", "HEAD"},
               .directory = std::move(directory)};
  CAY_CO_TRY(const RanProgram ran, co_await try_git(cay, std::move(box), std::move(call)));
  const int exit_code = ran.exit_code;
  if (exit_code == 0) co_return std::string(trimmed(ran.out, "\n"));
  if (!ran.err.empty()) co_return git_failure(ran.err, exit_code);
  co_return vendor_error(kGitBranchNotFound, "the head is detached: name a branch");
}

// Whether the current branch has an upstream.
Task<bool> has_upstream(core::Cay& cay, Box box, std::string directory) {
  GitCall call{.args = {"rev-parse", "--abbrev-ref", "@{upstream}"},
               .directory = std::move(directory)};
  CAY_CO_TRY(const RanProgram ran, co_await try_git(cay, std::move(box), std::move(call)));
  co_return ran.exit_code == 0;
}

}  // namespace

Task<http::Response> git_clone(core::Cay& cay, ExchangePtr exchange) {
  CAY_CO_TRY(const auto body, co_await toolbox_body(exchange));
  codec::Fields fields(body);
  std::string url, path, branch, commit;
  std::int64_t depth = 0;
  GitCall call{.args = {"clone", "--quiet"}};
  if (!fields.read("url", url) || url.empty()) fields.complain("url", "is required");
  if (!fields.read("path", path) || path.empty()) fields.complain("path", "is required");
  fields.read("branch", branch);
  fields.read("commit_id", commit);
  fields.read("depth", depth, 0, kDeepestClone);
  fields.read("insecure_skip_tls", call.skip_tls);
  call.login = login_of(fields);
  CAY_CO_CHECK(checked_body(fields));
  if (!commit.empty()) {
    CAY_CO_CHECK(check_git_name(commit, "commit_id"));
  }
  CAY_CO_TRY(const Box box, co_await box_of(cay, exchange));
  const std::string target = box.absolute(path);
  if (!branch.empty()) call.args.push_back("--branch=" + branch);
  if (depth > 0) call.args.push_back("--depth=" + std::to_string(depth));
  call.args.insert(call.args.end(), {"--", url, target});
  CAY_CO_TRY(const std::string cloned, co_await run_git(cay, box, std::move(call)));
  static_cast<void>(cloned);
  if (!commit.empty()) {
    GitCall checkout{.args = {"checkout", "--quiet", commit, "--"}, .directory = target};
    CAY_CO_TRY(const std::string done, co_await run_git(cay, box, std::move(checkout)));
    static_cast<void>(done);
  }
  co_return empty_answer(200);
}

Task<http::Response> git_push(core::Cay& cay, ExchangePtr exchange) {
  CAY_CO_TRY(const auto body, co_await toolbox_body(exchange));
  CAY_CO_TRY(RemoteRequest request, remote_request_of(body));
  CAY_CO_TRY(const Box box, co_await box_of(cay, exchange));
  const std::string directory = box.absolute(request.path);
  if (request.branch.empty()) {
    CAY_CO_TRY(request.branch, co_await current_branch(cay, box, directory));
  }
  GitCall call{.args = {"push", "--porcelain"}, .directory = directory};
  call.login = std::move(request.login);
  if (request.set_upstream) call.args.emplace_back("--set-upstream");
  call.args.push_back(request.remote.empty() ? "origin" : request.remote);
  call.args.push_back(request.branch);
  CAY_CO_TRY(const std::string done, co_await run_git(cay, box, std::move(call)));
  static_cast<void>(done);
  co_return empty_answer(200);
}

Task<http::Response> git_pull(core::Cay& cay, ExchangePtr exchange) {
  CAY_CO_TRY(const auto body, co_await toolbox_body(exchange));
  CAY_CO_TRY(RemoteRequest request, remote_request_of(body));
  CAY_CO_TRY(const Box box, co_await box_of(cay, exchange));
  const std::string directory = box.absolute(request.path);
  bool named = !request.remote.empty() || !request.branch.empty();
  if (!named) {
    CAY_CO_TRY(const bool tracked, co_await has_upstream(cay, box, directory));
    named = !tracked;
  }
  if (named && request.branch.empty()) {
    CAY_CO_TRY(request.branch, co_await current_branch(cay, box, directory));
  }
  GitCall call{.args = {"pull", "--quiet", "--no-edit", "--no-rebase"}, .directory = directory};
  call.login = std::move(request.login);
  if (named) {
    call.args.push_back(request.remote.empty() ? "origin" : request.remote);
    call.args.push_back(request.branch);
  }
  CAY_CO_TRY(const std::string done, co_await run_git(cay, box, std::move(call)));
  static_cast<void>(done);
  co_return empty_answer(200);
}

Task<http::Response> git_remotes(core::Cay& cay, ExchangePtr exchange) {
  CAY_CO_TRY(const std::string path, needed_query(exchange, "path"));
  CAY_CO_TRY(const Box box, co_await box_of(cay, exchange));
  GitCall call{.args = {"remote", "--verbose"}, .directory = box.absolute(path)};
  CAY_CO_TRY(const std::string text, co_await run_git(cay, box, std::move(call)));
  co_return json_answer(200, codec::json::object{{"remotes", git_remotes_json(text)}});
}

Task<http::Response> git_add_remote(core::Cay& cay, ExchangePtr exchange) {
  CAY_CO_TRY(const auto body, co_await toolbox_body(exchange));
  codec::Fields fields(body);
  std::string path, name, url;
  bool fetch = false, overwrite = false;
  if (!fields.read("path", path) || path.empty()) fields.complain("path", "is required");
  if (!fields.read("url", url) || url.empty()) fields.complain("url", "is required");
  fields.read("name", name);
  fields.read("fetch", fetch);
  fields.read("overwrite", overwrite);
  CAY_CO_CHECK(checked_body(fields));
  CAY_CO_CHECK(check_git_name(name, "name"));
  CAY_CO_TRY(const Box box, co_await box_of(cay, exchange));
  const std::string directory = box.absolute(path);
  GitCall add{.args = {"remote", "add", "--", name, url}, .directory = directory};
  CAY_CO_TRY(const RanProgram added, co_await try_git(cay, box, std::move(add)));
  if (const int exit_code = added.exit_code; exit_code != 0) {
    const bool exists = added.err.find("already exists") != std::string::npos;
    if (!exists || !overwrite) co_return git_failure(added.err, exit_code);
    GitCall set{.args = {"remote", "set-url", "--", name, url}, .directory = directory};
    CAY_CO_TRY(const std::string done, co_await run_git(cay, box, std::move(set)));
    static_cast<void>(done);
  }
  if (fetch) {
    GitCall fetching{.args = {"fetch", "--quiet", "--", name}, .directory = directory};
    CAY_CO_TRY(const std::string done, co_await run_git(cay, box, std::move(fetching)));
    static_cast<void>(done);
  }
  co_return empty_answer(201);
}

}  // namespace cay::api::daytona
