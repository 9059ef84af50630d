// Ledger: where each evaluation of a driver begins, and how it ends.
//
// A driver writes it to its stderr, a line of JSON for the beginning and one for the end. The lines
// are small. So the end of an evaluation is known when the spool has dropped its output, and nobody
// reads all output to find one. Like events, the lines are claims of the sandbox. The first
// beginning and the first end of an id count. The first line of all is of no evaluation. Pure.
//
// A line here costs as much as an event. So a driver may hold lines back while they are of the last
// kMostUnlisted bytes of its stdout. Those bytes are in the spool as long as anything of it is, and
// have the same facts.
#pragma once
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "codec/json.h"
#include "model/context.h"

namespace cay::code {

// Offsets are those of the driver's stdout.
struct LedgerEntry {
  std::string tag{};
  std::uint64_t from = 0;  // what jobs wrote since the evaluation before begins here
  std::uint64_t at = 0;    // its own first line
  // Absent while it runs. Behind its last line.
  std::optional<std::uint64_t> end{};
  EvaluationState state = EvaluationState::kRunning;
  std::optional<std::uint32_t> exit_code{};
  std::string cwd{};
  bool shell_ended = false;
  bool has_jobs = false;                          // that held its output when it ended
  std::optional<std::uint64_t> jobs_end_at = {};  // none of them holds it from here on
};

class Ledger {
 public:
  static constexpr std::size_t kMostEntries = 2000;  // beyond them it forgets the oldest

  static constexpr std::uint64_t kMostUnlisted = 64 << 10;  // the drivers hold back much less

  // `only`: keeps the entry of one evaluation alone. Empty: of all.
  explicit Ledger(std::string only = {}) : only_(std::move(only)) {}

  // Bytes of the driver's stderr, in their order.
  void feed(std::string_view bytes);
  void gap(std::uint64_t length);
  // How many it has read.
  std::uint64_t read_to() const { return at_; }
  // The driver's stdout from listed_to() on. Whole lines count.
  void feed_unlisted(std::string_view bytes);
  // Bytes of its stdout that may have evaluations without a line are missing.
  void lose() { has_lost_ = true; }
  // The offset of its stdout up to which it has read of all evaluations.
  std::uint64_t listed_to() const { return listed_to_; }

  // nullptr: it has none.
  const LedgerEntry* find(const std::string& run) const;
  // False: an entry may be missing, since there was no room for it or bytes were dropped.
  bool is_complete() const { return !has_lost_; }
  // A driver of an older release writes none.
  bool is_empty() const { return !has_entries_; }
  // No evaluation is under way, as far as it has read.
  bool is_idle() const { return is_idle_; }

 private:
  void read_line(std::string_view line);
  void read_unlisted(std::string_view line, std::uint64_t at);
  void begin(std::string run, LedgerEntry made);
  // nullptr: nothing of that evaluation is to be noted.
  LedgerEntry* end(const std::string& run, std::uint64_t at, const codec::json::object& from);

  std::string only_;
  std::uint64_t at_ = 0;
  std::string line_;
  bool is_cut_ = false;  // the rest of this line follows a gap, or it is too long
  bool has_lost_ = false;
  bool has_entries_ = false;
  bool is_idle_ = true;
  std::uint64_t listed_to_ = 0;
  std::uint64_t idle_from_ = 0;  // the end of the last evaluation
  std::map<std::string, LedgerEntry> entries_;
  std::deque<std::string> order_;
};

}  // namespace cay::code
