// CodeRuns: runs a program that is given as text, in one of the languages of code/language.h.
#pragma once
#include <string>

#include "async/task.h"
#include "code/request.h"
#include "code/result.h"
#include "core/verbs/sandboxes.h"
#include "model/principal.h"
#include "model/sandbox.h"

namespace cay::core {

class CodeRuns {
 public:
  virtual ~CodeRuns() = default;
  // Runs in a sandbox, which it wakes. A program that fails is a result, and so is a failed
  // installation or compilation: RunResult::phase. Fails kInvalidArgument (unknown_language,
  // libraries_unsupported, toolchain_missing) and as Commands and Files fail. A caller that goes
  // away ends the program, and its files are removed.
  virtual Task<code::RunResult> run(Principal who, std::string ref, code::RunRequest request) = 0;
  // Makes a sandbox, runs in it and removes it, also when the run fails or the caller goes away.
  virtual Task<code::RunResult> run_once(Principal who, SandboxSpec spec, CreateOptions options,
                                         code::RunRequest request) = 0;
};

}  // namespace cay::core
