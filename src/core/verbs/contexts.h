// Contexts: interpreters in sandboxes that keep their variables between evaluations. `ref` is a
// sandbox's id or name.
#pragma once
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "async/task.h"
#include "model/context.h"
#include "model/principal.h"

namespace cay::core {

// A context is a command, a driver of Cay's, that is found again by its mark. It outlives the
// daemon, and ends with its sandbox's processes. It evaluates one request after the other. All
// results lie in the driver's output, so each daemon reads the same ones.
class Contexts {
 public:
  virtual ~Contexts() = default;

  // Get-or-create by spec.id. Wakes a stopped sandbox. Fails kInvalidArgument (invalid_context,
  // unknown_language), kNotFound (toolchain_missing), kConflict (context_in_use: the id is one of
  // another language), kNotReady (context_gone: the id is one that has ended).
  virtual Task<Context> create(Principal who, std::string ref, ContextSpec spec) = 0;
  // The newest generation of each, also of those that have ended.
  virtual Task<std::vector<Context>> list(Principal who, std::string ref) = 0;
  // All others fail kNotFound (unknown_context).
  virtual Task<Context> get(Principal who, std::string ref, std::string id) = 0;
  // Ends its processes, and forgets its results.
  virtual Task<void> remove(Principal who, std::string ref, std::string id) = 0;

  using Wait = std::chrono::milliseconds;
  // Evaluates, and waits at most so long for the end. The Evaluation has what there is by then. A
  // repeat with a known id evaluates nothing and returns what is known. Fails kNotReady
  // (context_gone), kConflict (evaluation_in_use: the id is one of other code).
  virtual Task<Evaluation> evaluate(Principal who, std::string ref, std::string id,
                                    EvaluationSpec spec, Wait wait) = 0;
  // How long a reader waits, and for what.
  struct Patience {
    enum class Until : std::uint8_t {
      kEnd,    // of the evaluation, or of the daemon
      kEvent,  // likewise, or for one event more. Fails shutting_down if the daemon ends first
    };
    Wait wait{0};
    Until until = Until::kEnd;
  };
  // Reads an evaluation on from Evaluation::next, or from its beginning. Does not wake a stopped
  // sandbox. Fails kNotFound (unknown_evaluation).
  virtual Task<Evaluation> evaluation(Principal who, std::string ref, std::string id,
                                      std::string run, std::optional<ContextPlace> from,
                                      Patience patience) = 0;
  // The state and the end of an evaluation, without its events. kRunning: it runs, or it may wait
  // behind another one. The end is kept as long as the context, also where output was dropped.
  // Fails kNotFound (unknown_evaluation: it never began, and nothing is under way).
  virtual Task<Evaluation> outcome(Principal who, std::string ref, std::string id,
                                   std::string run) = 0;
  // Returns the output of its jobs after its end, so far. A driver of an older release has it
  // only as background of later evaluations. Fails kNotFound (unknown_evaluation).
  virtual Task<JobOutput> output_of_jobs(Principal who, std::string ref, std::string id,
                                         std::string run, std::optional<ContextPlace> from) = 0;
  // Interrupts the evaluation under way, if there is one. The context lives on.
  virtual Task<void> interrupt(Principal who, std::string ref, std::string id) = 0;
  // Ends its processes and begins anew, without its variables. An evaluation under way is lost.
  // Results of the generation before stay readable.
  virtual Task<Context> restart(Principal who, std::string ref, std::string id) = 0;
};

}  // namespace cay::core
