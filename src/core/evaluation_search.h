// EvaluationSearch: finds evaluations that began earlier, in the output and the ledgers of a
// context's drivers.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "core/evaluation_following.h"
#include "core/known_contexts.h"

namespace cay::core {

// An evaluation, and the generations of its context, the newest first.
struct Sought {
  Principal who;
  ContextKey key;
  std::vector<Context> all;
  std::string run;
};
using SoughtPtr = std::shared_ptr<const Sought>;

class EvaluationSearch {
 public:
  EvaluationSearch(Commands& commands, KnownContexts& known, Events& daemon)
      : commands_(commands), known_(known), daemon_(daemon) {}

  // Reads it. `tag`: fails evaluation_in_use if it has another. Fails unknown_evaluation.
  Task<Evaluation> read(SoughtPtr what, std::optional<ContextPlace> from,
                        Contexts::Patience patience, std::string tag);
  // Reads the ledger anew if the end was dropped from the output.
  Task<Evaluation> confirm(Principal who, ContextKey key, CommandId driver, Evaluation read);
  // Those of Contexts.
  Task<Evaluation> outcome(SoughtPtr what);
  Task<JobOutput> output_of_jobs(SoughtPtr what, std::optional<ContextPlace> from);

 private:
  struct Entry {
    std::optional<code::LedgerEntry> found;
    bool is_certain = false;  // without an entry, it never began here
    bool is_idle = false;     // no evaluation is under way
  };
  Task<Entry> entry_of(Principal who, ContextKey key, Context context, std::string run);
  // Reads what `driver` had written for the ledger when it was looked at.
  Task<void> read_on_to(Principal who, SandboxId sandbox, Command driver, code::Ledger& ledger);
  // nullopt: it is not in this generation, as far as is kept.
  Task<std::optional<Evaluation>> read_in(SoughtPtr what, Context context, Entry entry,
                                          std::optional<ContextPlace> from,
                                          Contexts::Patience patience, std::string tag);

  Commands& commands_;
  KnownContexts& known_;
  Events& daemon_;
};

// Whether the driver, or any command, has ended.
bool has_ended(const Command& command);

}  // namespace cay::core
