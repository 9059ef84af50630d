// EvaluationReader: picks the events of one evaluation out of what a driver writes.
//
// The driver runs inside the sandbox, beside the code that it evaluates, so each line is a claim.
// A line counts if it begins with the evaluation's own id. The id is random, so no earlier code
// knows it. The first end of an evaluation counts: code that runs later cannot change a result.
// A line of the evaluation that is no event becomes kUnreadable and is never dropped in silence.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "codec/json.h"
#include "model/context.h"

namespace cay::code {

class EvaluationReader {
 public:
  static constexpr std::size_t kLongestLine = 8 << 20;
  static constexpr std::size_t kMostParts = 32;        // of one event
  static constexpr std::size_t kMostBytes = 16 << 20;  // of the lines of all events

  static constexpr std::size_t kMostEvents = 20'000;

  // `from`: the offset of the first byte that feed() gets. `begun`: its beginning lies before.
  EvaluationReader(std::string run, std::uint64_t from, bool begun = false);

  void feed(std::string_view bytes);
  // `length` bytes are missing here.
  void gap(std::uint64_t length);

  // Its end was read, or there is no room for more events: nothing more is to be fed.
  bool is_over() const { return state_ != EvaluationState::kRunning || full_; }
  bool has_begun() const { return begun_; }
  bool has_events() const { return !events_.empty(); }
  bool is_full() const { return full_; }
  EvaluationState state() const { return state_; }
  // The driver of a shell reports these when a call is over.
  std::optional<std::uint32_t> exit_code() const { return exit_code_; }
  const std::string& cwd() const { return cwd_; }
  bool shell_ended() const { return shell_ended_; }
  // The tag that the driver repeated at the beginning.
  const std::string& tag() const { return tag_; }
  // The offset up to which lines are read. The end of an evaluation lies behind it, so that it is
  // read again from there.
  std::uint64_t next() const { return line_begin_; }
  // True if bytes were missing in what was fed.
  bool has_gap() const { return gaps_ > 0; }

  std::vector<ContextEvent> take_events() { return std::move(events_); }

 private:
  bool is_own_line() const;
  bool begins_another() const;
  void end_line();
  void read_event(std::string_view line);
  bool read_end(const codec::json::object& from);
  void add(ContextEvent event);

  const std::string prefix_;  // of its lines
  std::uint64_t line_begin_;
  std::uint64_t at_;
  std::string line_;               // its first bytes, or all if it is its own
  std::uint64_t line_length_ = 0;  // without the line end
  bool in_gap_ = false;            // the rest of this line follows a gap
  bool begun_;
  bool full_ = false;
  std::uint64_t gaps_ = 0;
  std::uint64_t untold_gap_ = 0;
  std::size_t bytes_ = 0;
  std::string tag_;
  EvaluationState state_ = EvaluationState::kRunning;
  std::optional<std::uint32_t> exit_code_;
  std::string cwd_;
  bool shell_ended_ = false;
  std::vector<ContextEvent> events_;
};

}  // namespace cay::code
