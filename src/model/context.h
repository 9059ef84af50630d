// Context: an interpreter in a sandbox that keeps its variables between evaluations.
//
// It is a command that runs for long, a driver of Cay's. All that an evaluation reports is a claim
// of code inside the sandbox. Only the end of the driver's command is known from outside.
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/command.h"
#include "model/sandbox.h"

namespace cay {

struct ContextSpec {
  std::string id;  // 1-64 of [A-Za-z0-9_-]; empty: made by Cay. A known one is found again
  std::string language = "python";
  RunConfig run;
  bool warm = false;  // a new one is there when its interpreter evaluates
};

struct Context {
  std::string id;
  std::string language;
  std::uint32_t generation = 1;  // one more with each restart
  Command command;               // the driver
};

struct EvaluationSpec {
  std::string id;  // 1-64 of [A-Za-z0-9_-]; empty: made by Cay. A known one runs once
  std::string code;
  // In a process that is forked off the interpreter. It changes no variable of the context, and its
  // end is the evaluation's. Only Python has this.
  bool fork = false;
  // Only shells have these.
  std::string input{};           // their stdin; empty: /dev/null
  std::uint64_t timeout_ms = 0;  // 0: none. It interrupts, and kills what an interrupt does not end
  bool interrupt_on_cancel = false;  // interrupt it if its caller leaves
};

inline constexpr std::size_t kMostCode = 1 << 20;
inline constexpr std::size_t kMostInput = 1 << 20;

struct ContextEvent {
  enum class Kind : std::uint8_t {
    kStdout,      // text
    kStderr,      // text
    kDisplay,     // data
    kResult,      // data: the value of the last expression
    kError,       // name, text (the value), traceback
    kBackground,  // text that a job of an earlier call wrote: to `name`, of the evaluation `of`.
                  // bytes: how much more was dropped
    kGap,         // bytes that the spool dropped
    kUnreadable,  // bytes that the driver wrote, and that are no event
  };
  Kind kind = Kind::kStdout;
  std::string text{};
  std::string raw{};  // the exact bytes of output, if U+FFFD stands for some of them in text
  std::string name{};
  std::string traceback{};
  std::string of{};
  std::map<std::string, std::string> data{};       // by MIME type; those of images are base64
  std::map<std::string, std::uint64_t> omitted{};  // parts that were too large, with their sizes
  std::uint64_t bytes = 0;
  std::uint64_t next = 0;  // the offset in the driver's output to read on from behind it
};
std::string_view to_string(ContextEvent::Kind kind);

enum class EvaluationState : std::uint8_t {
  kRunning,      // or it waits for the one before it
  kOk,           // as the driver reports
  kError,        // likewise
  kInterrupted,  // likewise
  kTimedOut,     // likewise: its time limit interrupted it
  kLost,         // the driver ended first, and `driver` has how; or the end was dropped: a gap
};
std::string_view to_string(EvaluationState state);

// A place in a context's output, to read on from.
struct ContextPlace {
  std::uint32_t generation = 1;
  std::uint64_t offset = 0;
};

// The known part of an evaluation, from a place on.
struct Evaluation {
  std::string id;
  std::string context;
  EvaluationState state = EvaluationState::kRunning;
  std::vector<ContextEvent> events{};
  ContextPlace next{};
  bool more = false;  // there are events that have no room here: read on
  // A call of a shell that is over has these.
  std::optional<std::uint32_t> exit_code{};
  std::string cwd{};                // where the shell is
  bool ended = false;               // the shell ended with it
  std::optional<Command> driver{};  // kLost: as it ended
  bool begun = true;                // kLost: false if the driver ended before it came to it
};

// Output of the jobs of an evaluation after its end, from a place on.
struct JobOutput {
  std::vector<ContextEvent> events{};  // kStdout, kStderr, kGap
  ContextPlace next{};
  bool more = false;  // there are events that have no room here: read on
};

}  // namespace cay
