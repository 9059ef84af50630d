// Runs git inside the sandbox, with arguments and never through a shell.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/daytona/toolbox/request.h"
#include "api/daytona/toolbox/run.h"

namespace cay::api::daytona {

// A login of a remote. It reaches git by the environment of that one process, from where git's
// credential helper reads it. It is in no argument and in no file, and git stores it nowhere.
struct GitLogin {
  std::string username;
  std::string password;
};

struct GitCall {
  std::vector<std::string> args;
  std::string directory{};  // absolute; empty: the working directory
  std::optional<GitLogin> login{};
  bool skip_tls = false;
  std::map<std::string, std::string> env{};
  std::optional<std::string> input{};
};

// Returns how it ended, whatever its exit code. Fails UNPROCESSABLE_ENTITY without git, and
// GIT_REPO_NOT_FOUND without the directory.
Task<RanProgram> try_git(core::Cay& cay, Box box, GitCall call);
// Returns its output. Fails with the error of git_failure().
Task<std::string> run_git(core::Cay& cay, Box box, GitCall call);

// The vendor's code for what git printed.
Error git_failure(std::string_view printed, int exit_code);

// Fails BAD_REQUEST for a name that git would take for an option.
Result<void> check_git_name(std::string_view name, const char* what);

}  // namespace cay::api::daytona
