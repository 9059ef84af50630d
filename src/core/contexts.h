// ContextVerbs: core::Contexts over commands.
#pragma once
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "async/mutex.h"
#include "code/context_driver.h"
#include "core/jobs.h"
#include "core/registry.h"
#include "core/verbs/commands.h"
#include "core/verbs/contexts.h"

namespace cay::core {

class Events;

class ContextVerbs : public Contexts {
 public:
  ContextVerbs(std::shared_ptr<Registry> registry, Commands& commands, Jobs& jobs, Events& daemon)
      : registry_(std::move(registry)), commands_(commands), jobs_(jobs), daemon_(daemon) {}

  Task<Context> create(Principal who, std::string ref, ContextSpec spec) override;
  Task<std::vector<Context>> list(Principal who, std::string ref) override;
  Task<Context> get(Principal who, std::string ref, std::string id) override;
  Task<void> remove(Principal who, std::string ref, std::string id) override;
  Task<Evaluation> evaluate(Principal who, std::string ref, std::string id, EvaluationSpec spec,
                            Wait wait) override;
  Task<Evaluation> evaluation(Principal who, std::string ref, std::string id, std::string run,
                              std::optional<ContextPlace> from, Patience patience) override;
  Task<void> interrupt(Principal who, std::string ref, std::string id) override;
  Task<Context> restart(Principal who, std::string ref, std::string id) override;

 private:
  // A cache of one driver: all of it is found again in the driver's mark and output.
  struct Known {
    Known(const Context& context, const asio::any_io_executor& loop);
    void put(const std::string& run, ContextPlace at);
    // Takes over what was sent to the generations before.
    void follow(const Known& older);

    std::uint32_t generation;
    std::string language;
    CommandId command;
    std::uint64_t read_to;                       // the next evaluation begins behind
    std::uint64_t cold_until;                    // evaluations before it may have no place here
    std::map<std::string, ContextPlace> places;  // evaluations, and where to look for them
    std::deque<std::string> order;               // of places
    Mutex writing;
  };
  using KnownPtr = std::shared_ptr<Known>;
  using Key = std::pair<SandboxId, std::string>;  // the id of the context

  // The generations of a context, the newest first. Fails unknown_context.
  Task<std::vector<Context>> generations(Principal who, std::string ref, std::string id);
  Task<KnownPtr> known(Principal who, SandboxId sandbox, std::string id);
  KnownPtr remember(const SandboxId& sandbox, const Context& context);
  void drop(const Key& key);
  // Starts a driver with the mark's variables.
  Task<Context> start(Principal who, SandboxId sandbox, code::ContextMark mark, RunConfig run);
  // Kills a driver and waits for its end.
  Task<void> end(Principal who, SandboxId sandbox, Command driver);
  Task<void> forget(Principal who, SandboxId sandbox, std::vector<Context> all, std::size_t first);
  Task<Context> restart_job(Principal who, SandboxId sandbox, std::vector<Context> all);
  Task<void> write(Principal who, SandboxId sandbox, KnownPtr driver, EvaluationSpec spec,
                   std::uint64_t from);
  Task<Evaluation> send(Principal who, Key key, KnownPtr driver, EvaluationSpec spec, Wait wait);
  // Reads an evaluation that began earlier. `tag`: fails evaluation_in_use if it has another.
  Task<Evaluation> find(Principal who, Key key, std::string run, std::optional<ContextPlace> from,
                        Patience patience, std::string tag);

  std::shared_ptr<Registry> registry_;
  Commands& commands_;
  Jobs& jobs_;
  Events& daemon_;  // for its end
  std::map<Key, KnownPtr> known_;
  std::deque<Key> order_;  // of known_
};

}  // namespace cay::core
