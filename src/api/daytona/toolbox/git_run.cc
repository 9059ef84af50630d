#include "api/daytona/toolbox/git_run.h"

#include <array>
#include <utility>

#include "api/daytona/toolbox/errors.h"
#include "base/ascii.h"

namespace cay::api::daytona {
namespace {

// A credential helper of git. It reads the login from its environment, and keeps nothing.
constexpr const char* kLoginHelper =
    "credential.helper=!f() { test \"$1\" = get && "
    "printf 'username=%s\\npassword=%s\\n' \"$CAY_GIT_USERNAME\" \"$CAY_GIT_PASSWORD\"; }; f";

// Words of git in lower case, each with its meaning. The first that is found counts.
constexpr std::array<std::pair<std::string_view, VendorCode>, 38> kMeanings{{
    {"authentication failed", kGitAuthFailed},
    {"could not read username", kGitAuthFailed},
    {"could not read password", kGitAuthFailed},
    {"invalid credentials", kGitAuthFailed},
    {"invalid username or", kGitAuthFailed},
    {"permission denied (publickey", kGitAuthFailed},
    {"returned error: 401", kGitAuthFailed},
    {"returned error: 403", kForbidden},
    {"not a git repository", kGitRepoNotFound},
    {"repository not found", kGitRepoNotFound},
    {"does not appear to be a git repository", kGitRepoNotFound},
    {"returned error: 404", kGitRepoNotFound},
    {"remote branch", kGitBranchNotFound},
    {"did not match any file", kGitBranchNotFound},
    {"invalid reference", kGitBranchNotFound},
    {"couldn't find remote ref", kGitBranchNotFound},
    {"unknown revision", kGitBranchNotFound},
    {"not a valid object name", kGitBranchNotFound},
    {"a branch named", kGitBranchExists},
    {"non-fast-forward", kGitPushRejected},
    {"fetch first", kGitPushRejected},
    {"[remote rejected]", kGitRemoteRejected},
    {"[rejected]", kGitPushRejected},
    {"would be overwritten", kGitDirtyWorktree},
    {"your local changes", kGitDirtyWorktree},
    {"uncommitted changes", kGitDirtyWorktree},
    {"conflict (", kGitMergeConflict},
    {"unmerged files", kGitMergeConflict},
    {"automatic merge failed", kGitMergeConflict},
    {"is not an empty directory", kConflict},
    {"nothing to commit", kConflict},
    {"nothing added to commit", kConflict},
    {"no changes added to commit", kConflict},
    {"already exists", kConflict},
    {"could not resolve host", kGitTransportFailed},
    {"unable to access", kGitTransportFailed},
    {"could not read from remote repository", kGitTransportFailed},
    {"the remote end hung up", kGitTransportFailed},
}};

}  // namespace

Error git_failure(std::string_view printed, int exit_code) {
  const std::string lower = lowered(printed);
  std::string message(trimmed(printed, " \t\r\n"));
  if (message.empty()) message = "git ended with exit code " + std::to_string(exit_code);
  // "error: branch 'x' not found."
  const bool lost_branch =
      lower.find("branch '") != std::string::npos && lower.find("not found") != std::string::npos;
  if (lost_branch) return vendor_error(kGitBranchNotFound, std::move(message));
  for (const auto& [words, code] : kMeanings) {
    if (lower.find(words) != std::string::npos) return vendor_error(code, std::move(message));
  }
  return vendor_error(kBadRequest, std::move(message));
}

Result<void> check_git_name(std::string_view name, const char* what) {
  if (!name.empty() && !name.starts_with('-') && name.find('\0') == std::string_view::npos)
    return {};
  return vendor_error(kBadRequest, std::string(what) + " is required, and does not begin with '-'");
}

Task<RanProgram> try_git(core::Cay& cay, Box box, GitCall call) {
  // Git then accepts a directory of another owner, since the caller named it.
  Program program{.argv = {"git", "-c", "safe.directory=*"}};
  program.env = std::move(call.env);
  program.env.try_emplace("LC_ALL", "C");
  program.env.try_emplace("GIT_TERMINAL_PROMPT", "0");
  if (call.login) {
    for (const char* one : {"-c", "credential.helper=", "-c", kLoginHelper})
      program.argv.emplace_back(one);
    program.env["CAY_GIT_USERNAME"] = call.login->username;
    program.env["CAY_GIT_PASSWORD"] = call.login->password;
  }
  if (call.skip_tls) {
    program.argv.emplace_back("-c");
    program.argv.emplace_back("http.sslVerify=false");
  }
  for (std::string& one : call.args) program.argv.push_back(std::move(one));
  program.cwd = std::move(call.directory);
  program.input = std::move(call.input);
  const auto part = cay.answers().begin(box.who.tenant);
  auto ran = co_await run_program(cay, std::move(box), std::move(program), part);
  if (ran) co_return ran;
  if (ran.error().reason == "command_not_found") {
    co_return vendor_error(kUnprocessable,
                           "this sandbox has no git: install it (`apt-get install git`), or make "
                           "the sandbox from an image that has it");
  }
  if (ran.error().reason == "bad_cwd")
    co_return vendor_error(kGitRepoNotFound, "repository does not exist");
  co_return std::move(ran).error();
}

Task<std::string> run_git(core::Cay& cay, Box box, GitCall call) {
  CAY_CO_TRY(RanProgram ran, co_await try_git(cay, std::move(box), std::move(call)));
  const int exit_code = ran.exit_code;
  if (exit_code == 0) co_return std::move(ran.out);
  co_return git_failure(ran.err + ran.out, exit_code);
}

}  // namespace cay::api::daytona
