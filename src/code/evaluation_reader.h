// EvaluationReader: picks the events of one evaluation out of what a driver writes.
//
// The driver runs inside the sandbox, beside the code that it evaluates, so each line is a claim.
// A line counts if it begins with the evaluation's own id. The id is random, so no earlier code
// knows it. The first end of an evaluation counts: code that runs later cannot change a result.
// A line of the evaluation that is no event becomes kUnreadable and is never dropped in silence.
//
// Jobs may write after the end of their call. Such a line is late. It becomes an event of the
// background of the evaluation that is under way, or else of the next one.
#pragma once
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "code/driver_line.h"
#include "code/ledger.h"
#include "model/context.h"

namespace cay::code {

class EvaluationReader {
 public:
  static constexpr std::size_t kLongestLine = 8 << 20;
  static constexpr std::size_t kMostParts = 32;        // of one event
  static constexpr std::size_t kMostBytes = 16 << 20;  // of the lines of all events

  static constexpr std::size_t kMostEvents = 20'000;
  static constexpr std::size_t kMostBackground = 1 << 20;  // since the evaluation before: the last

  struct Start {
    std::uint64_t from = 0;  // the offset of the first byte that feed() gets
    bool begun = false;      // its beginning may lie before
    bool under_way = false;  // it does: late lines are of its background
    std::uint64_t at = 0;    // of its beginning, if that is known: a gap before it is of others
    bool jobs = false;       // reads the late lines of its own jobs, and nothing else
  };
  EvaluationReader(std::string run, Start start);

  void feed(std::string_view bytes);
  // `length` bytes are missing here.
  void gap(std::uint64_t length);
  // Takes the end from the ledger, since its last lines are missing.
  void settle(const LedgerEntry& entry);

  // Its end was read, or there is no room for more events: nothing more is to be fed.
  bool is_over() const { return ending_.state != EvaluationState::kRunning || full_; }
  bool has_begun() const { return begun_; }
  // It has read a line of it, or Start has it so.
  bool is_under_way() const { return under_way_; }
  bool has_events() const { return !events_.empty(); }
  bool is_full() const { return full_; }
  EvaluationState state() const { return ending_.state; }
  // The driver of a shell reports more of it.
  const Ending& ending() const { return ending_; }
  // The tag that the driver repeated at the beginning.
  const std::string& tag() const { return tag_; }
  // The offset up to which lines are read. The end of an evaluation lies behind it, so that it is
  // read again from there.
  std::uint64_t next() const { return under_way_ ? line_begin_ : idle_from_; }
  // The offset behind its end if that was read, else next(). The next evaluation begins from there.
  std::uint64_t passed() const { return own_end_.value_or(next()); }
  std::vector<ContextEvent> take_events() { return std::move(events_); }

 private:
  void end_line();
  bool has_room(std::size_t line_size);
  void read_event(std::string_view line);
  void read_late(std::string_view line);
  void begin();
  void add(ContextEvent event);

  const std::string prefix_;  // of its lines
  const std::uint64_t own_from_;
  const bool jobs_;
  std::uint64_t line_begin_;
  std::uint64_t idle_from_;  // behind the end of the evaluation before
  std::uint64_t at_;
  std::string line_;               // its first bytes, or all if it counts
  std::uint64_t line_length_ = 0;  // without the line end
  std::optional<std::uint64_t> own_end_{};
  bool in_gap_ = false;  // the rest of this line follows a gap
  bool begun_;
  bool under_way_;
  bool full_ = false;
  std::uint64_t gaps_ = 0;
  std::uint64_t untold_gap_ = 0;
  std::size_t bytes_ = 0;
  std::string tag_;
  Ending ending_;
  std::deque<ContextEvent> background_;  // until it begins
  std::size_t background_bytes_ = 0;
  std::uint64_t background_dropped_ = 0;
  std::vector<ContextEvent> events_;
};

}  // namespace cay::code
