// ContextVerbs: core::Contexts over commands.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "code/context_driver.h"
#include "core/evaluation_search.h"
#include "core/jobs.h"
#include "core/known_contexts.h"
#include "core/registry.h"
#include "core/verbs/commands.h"
#include "core/verbs/contexts.h"

namespace cay::core {

class Events;

class ContextVerbs : public Contexts {
 public:
  ContextVerbs(std::shared_ptr<Registry> registry, Commands& commands, Jobs& jobs, Events& daemon)
      : registry_(std::move(registry)),
        commands_(commands),
        jobs_(jobs),
        daemon_(daemon),
        known_(jobs.loop()),
        search_(commands, known_, daemon) {}

  Task<Context> create(Principal who, std::string ref, ContextSpec spec) override;
  Task<std::vector<Context>> list(Principal who, std::string ref) override;
  Task<Context> get(Principal who, std::string ref, std::string id) override;
  Task<void> remove(Principal who, std::string ref, std::string id) override;
  Task<Evaluation> evaluate(Principal who, std::string ref, std::string id, EvaluationSpec spec,
                            Wait wait) override;
  Task<Evaluation> evaluation(Principal who, std::string ref, std::string id, std::string run,
                              std::optional<ContextPlace> from, Patience patience) override;
  Task<Evaluation> outcome(Principal who, std::string ref, std::string id,
                           std::string run) override;
  Task<JobOutput> output_of_jobs(Principal who, std::string ref, std::string id, std::string run,
                                 std::optional<ContextPlace> from) override;
  Task<void> interrupt(Principal who, std::string ref, std::string id) override;
  Task<Context> restart(Principal who, std::string ref, std::string id) override;

 private:
  // The generations of a context, the newest first. Fails unknown_context.
  Task<std::vector<Context>> generations(Principal who, std::string ref, std::string id);
  Task<KnownContextPtr> known(Principal who, SandboxId sandbox, std::string id);
  Task<SoughtPtr> sought_by(Principal who, std::string ref, std::string id, std::string run);
  Task<SoughtPtr> sought(Principal who, ContextKey key, std::string run);
  // Starts a driver with the mark's variables.
  Task<Context> start(Principal who, SandboxId sandbox, code::ContextMark mark, RunConfig run);
  // Kills a driver and waits for its end.
  Task<void> end(Principal who, SandboxId sandbox, Command driver);
  Task<void> forget(Principal who, SandboxId sandbox, std::vector<Context> all, std::size_t first);
  Task<Context> restart_job(Principal who, SandboxId sandbox, std::vector<Context> all);
  Task<LiveCommands::Written> write(Principal who, SandboxId sandbox, KnownContextPtr driver,
                                    EvaluationSpec spec, OutputOffsets from);
  Task<Evaluation> send(Principal who, ContextKey key, KnownContextPtr driver, EvaluationSpec spec,
                        Wait wait);

  std::shared_ptr<Registry> registry_;
  Commands& commands_;
  Jobs& jobs_;
  Events& daemon_;  // for its end
  KnownContexts known_;
  EvaluationSearch search_;
};

}  // namespace cay::core
