// Reading one evaluation from its driver's output, and the ledger from the driver's stderr.
#pragma once
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>

#include "code/evaluation_reader.h"
#include "code/ledger.h"
#include "core/verbs/commands.h"
#include "core/verbs/contexts.h"

namespace cay::core {

class Events;

inline constexpr std::uint64_t kToTheEnd = std::numeric_limits<std::uint64_t>::max();

// A reader of a driver's output, and the events of one evaluation that it has read so far.
struct Following {
  Following(Reader source, std::string run, code::EvaluationReader::Start start)
      : reader(std::move(source)), events(std::move(run), start), at(start.from) {}
  Reader reader;
  code::EvaluationReader events;
  std::uint64_t at;
  std::uint64_t until = kToTheEnd;  // the end of the evaluation, if it is known
  std::uint64_t passed_ledger = 0;  // to this offset of the driver's stderr, which no event is in
  std::optional<Command> ended;

  bool is_over() const { return events.is_over() || ended.has_value() || at >= until; }
};

// Reads on to the evaluation's end, the driver's end or the offset `most`.
Task<void> read_on(std::shared_ptr<Following> from, std::uint64_t most,
                   Contexts::Patience::Until what = Contexts::Patience::Until::kEnd);

// The same, for at most `patience.wait`, or until the daemon ends.
Task<void> read_on_for(Events& daemon, std::shared_ptr<Following> from,
                       Contexts::Patience patience);

// Returns the events so far, and the end by `entry` if its own lines are missing. nullptr: the
// ledger has no entry.
Evaluation result_of(Following& from, const code::LedgerEntry* entry, std::string context,
                     std::string run, std::uint32_t generation);

// Feeds the ledger with the driver's stderr up to the offset `most`.
Task<void> read_ledger(Reader reader, std::uint64_t most, code::Ledger& ledger);

// Feeds the ledger with the driver's stdout up to the offset `most`. The reader begins at
// ledger.listed_to().
Task<void> read_unlisted(Reader reader, std::uint64_t most, code::Ledger& ledger);

}  // namespace cay::core
