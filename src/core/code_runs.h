// CodeVerbs: core::CodeRuns over the verbs on sandboxes, commands and files.
#pragma once
#include "core/jobs.h"
#include "core/verbs/code.h"
#include "core/verbs/commands.h"
#include "core/verbs/files.h"
#include "core/verbs/inspection.h"
#include "core/verbs/sandboxes.h"

namespace cay::core {

class CodeVerbs : public CodeRuns {
 public:
  struct Verbs {
    Sandboxes& sandboxes;
    Inspection& inspection;
    Commands& commands;
    Files& files;
    Jobs& jobs;
  };

  explicit CodeVerbs(Verbs at) : at_(at) {}

  Task<code::RunResult> run(Principal who, std::string ref, code::RunRequest request) override;
  Task<code::RunResult> run_once(Principal who, SandboxSpec spec, CreateOptions options,
                                 code::RunRequest request) override;

 private:
  Verbs at_;
};

}  // namespace cay::core
