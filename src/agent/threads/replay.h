// ThreadState: what a thread's events amount to. Pure: the same events always give the same state.
//
// The harness decides its next step by this state alone. So a process that takes over after a crash
// does what the former one would have done.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "agent/llm/message.h"
#include "agent/threads/event.h"
#include "agent/threads/spending.h"

namespace cay::agent {

// A call of the newest assistant message.
struct CallState {
  ToolCall call;           // with the arguments of an edit
  bool requested = false;  // an approval was requested
  bool approved = false;
  std::string decision{};  // approve, edit, reject or respond; empty: none
  std::string note{};      // the message of a reject or a respond
  bool started = false;
  bool unknown = false;  // it began in another thread, of which this one is a fork
  std::string execution_id{};
  std::uint64_t attempt = 0;
  std::optional<Message> result{};  // it has ended

  // It began in this thread, and did not end.
  bool is_open_here() const { return started && !result && !unknown; }
};

// A call of a subagent that waits for an approval.
struct ChildCall {
  std::string thread;
  std::string call_id;  // in that thread
  std::string name;
  std::string arguments;
};

// A message of the conversation. The results of calls have the number of the message that made
// them, so a cut at a number never parts them.
struct Entry {
  std::uint64_t seq = 0;
  Message message;
  std::string path{};  // a user's message that the model sees as a preview: where all of it is
};

struct Compaction {
  std::uint64_t before_seq = 0;  // entries with smaller numbers are summarised
  std::string summary;
  std::string path;  // of the full history, in the sandbox
};

struct RunAccount {
  std::string id;
  bool active = false;  // it began and did not end
  std::string state{};  // of its end
  std::string reason{};
  std::uint64_t ended_seq = 0;
  std::uint64_t steps = 0;
  Spending spent{};  // with that of its subagents
};

struct SandboxState {
  std::string provider;
  std::string id;
  std::string claim;
  bool lost = false;
};

// A sandbox that is about to be made.
struct RequestedSandbox {
  std::string claim;
  std::string source;  // the sandbox to copy; empty: none
};

struct Checkpoint {
  std::uint64_t seq = 0;
  std::string name;
};

struct ThreadState {
  bool created = false;
  std::string model, system_prompt, provider;
  std::string parent, parent_call;
  std::optional<std::string> instructions;
  std::uint64_t last_seq = 0;

  std::vector<Entry> conversation;
  std::vector<CallState> calls;  // of the newest message, while one of them has no result
  std::uint64_t calls_seq = 0;
  std::vector<ChildCall> child_calls;
  std::optional<Compaction> compaction;
  std::uint64_t arguments_before = 0;  // long arguments of entries with smaller numbers are cut
  std::uint64_t results_before = 0;    // and so are long results
  // The input's tokens as the model reported them, of the conversation's first `counted` entries.
  std::uint64_t counted = 0, counted_tokens = 0;

  std::optional<SandboxState> sandbox;
  std::optional<RequestedSandbox> requested;  // and not yet bound
  std::vector<Checkpoint> checkpoints;
  std::vector<std::uint64_t> tool_seqs;  // of the tools' starts
  std::string fork_of;                   // the sandbox to copy; empty: none
  std::string restore;                   // a checkpoint that is still to be restored

  RunAccount run;
  Spending spent;  // of all runs, with their subagents
  // The part of each subagent, by the id of its thread. It is in `spent` once.
  std::map<std::string, Spending> subagents;
  std::string text;  // the model's last text that is not empty, since the user's last input
  std::string stop;  // why its last answer ended: end, tool_calls, length or refused

  // A run that began and did not end, or whose input has no answer.
  bool open() const;
  bool waiting() const { return !run.active && run.state == "waiting"; }
};

// Adds one event. A `rewound` needs the earlier events: replay() reads it.
void apply(ThreadState& state, const ThreadEvent& event);
ThreadState replay(const std::vector<ThreadEvent>& events);

}  // namespace cay::agent
