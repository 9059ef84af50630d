// Agent: one thread's conversation with a model whose tools act in a sandbox. It calls the model,
// runs the calls that the model makes, returns their results to it, and begins again.
//
// The thread's log holds all of its state. Each step is in the log before its effect, so a thread
// goes on in another process after a crash.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/llm/model.h"
#include "agent/threads/event.h"
#include "agent/tools/make_tools.h"
#include "agent/tools/tool.h"
#include "async/task.h"
#include "providers/backend.h"

namespace cay::agent {

enum class RunState : std::uint8_t { kDone, kFailed, kCancelled, kLimit, kSandboxLost, kWaiting };
std::string_view to_string(RunState state);  // "done", "sandbox_lost", as the log spells it

// Bounds of one run. 0: none. A model that loops costs its user money, so steps have a default.
struct Limits {
  std::uint64_t steps = 500;  // calls of the model, of each loop: a subagent has as many
  // Input and output, and US dollars. The answers of subagents count, and so do summaries. Each
  // loop compares them before it requests an answer, so that each running one passes them by one
  // answer at most. A limit of the cost fails kInvalidArgument (no_prices) for a model without
  // prices.
  std::uint64_t tokens = 0;
  double cost = 0;
  Millis time{0};
};

enum class Verdict : std::uint8_t { kAllow, kAsk, kDeny };

// A rule for calls of tools. The first rule that matches decides, and without one a call is
// allowed. `*` in `tool` and `pattern` stands for any text, `?` for one character.
//
// `pattern` is compared with the call's main argument: command, file_path, path, url, code or
// pattern, else with all arguments as JSON. An allow rule with a pattern never matches a line of sh
// that runs several commands. So `git *` does not allow `git log; rm -r /`.
struct ApprovalRule {
  std::string tool;
  std::string pattern{};  // empty: any arguments
  Verdict verdict = Verdict::kAsk;
};

// A call that waits for an approval.
struct PendingCall {
  std::string call_id;
  std::string name;
  std::string arguments;  // as the model wrote them
};

struct Decision {
  enum class Type : std::uint8_t { kApprove, kEdit, kReject, kRespond };
  std::string call_id;
  Type type = Type::kApprove;
  // The arguments that the decider saw. Another text than the call's fails kConflict
  // (approval_changed). Empty: not compared.
  std::string seen{};
  std::string arguments{};  // kEdit: a JSON object that replaces the call's arguments
  std::string message{};    // kReject: the reason; kRespond: the answer in place of the tool's
};

// A subagent starts with an empty conversation, and returns its last text. The model calls it by
// the tool `task`.
struct SubagentSpec {
  enum class Sandbox : std::uint8_t {
    kShared,  // the parent's
    // A sandbox of its own is removed when the call has a result, or with the parent's. After a
    // stop or a failure it stays for the resume.
    kOwn,     // a new one from the parent's request
    kForked,  // a new one with a copy of the parent's disk
  };
  std::string name;
  std::string description;
  std::string system_prompt;
  std::optional<ModelSettings> model{};              // absent: the parent's
  std::optional<std::vector<std::string>> tools{};   // names; absent: all of the parent's
  std::optional<std::vector<ApprovalRule>> rules{};  // absent: the parent's
  std::vector<std::string> skills{};
  codec::json::object response_schema{};
  Sandbox sandbox = Sandbox::kShared;
};

struct AgentOptions {
  ModelSettings model;
  std::optional<ModelSettings> fallback;
  std::string system_prompt;

  std::string provider = "cay";  // cay, langsmith, daytona, local
  // An empty claim and id: the claim is "thread:" and the thread's id.
  providers::SandboxRequest sandbox;
  bool checkpoint = false;  // keeps the disk with the conversation after each run

  Tools tools;  // beyond the built-in ones; one of the same name replaces it
  // The names of the only tools that the model gets. Empty: all. An unknown name fails
  // kInvalidArgument (unknown_tool).
  std::vector<std::string> offered;
  ToolOptions built_in;         // web access, file rules and bounds of the built-in tools
  bool todos = false;           // offers write_todos
  bool general_purpose = true;  // a subagent of this name is always there
  std::vector<SubagentSpec> subagents;
  // 1: subagents have no tool `task`. Each one more lets subagents of that depth call others.
  std::uint32_t subagent_depth = 1;
  std::vector<ApprovalRule> rules;
  Limits limits;
  std::vector<std::string> skills;  // directories in the sandbox; later ones win
  std::vector<std::string> memory;  // AGENTS.md files in the sandbox
  // A thread whose sandbox is lost goes on in a new one, from the last checkpoint if there is one.
  // The model reads that. Without it, such a thread runs no more.
  bool replace_lost_sandbox = false;
  codec::json::object response_schema;

  std::string state_path;  // threads.db; empty: default_state_path()
  std::string thread;      // resumes this one; empty: a new thread

  // In place of those that `model` and `provider` name, and of the built-in tools. For tests and
  // embedding programs.
  std::shared_ptr<Model> made_model;
  std::shared_ptr<providers::Provider> made_provider;
  std::function<Tools(std::shared_ptr<providers::Backend>)> made_tools;
};

struct RunResult {
  RunState state = RunState::kDone;
  // Why the run ended, where it is not done: "steps", or the reason of an Error such as
  // "model_unreachable".
  std::string reason;
  std::string message;            // the same for people, with a remedy
  std::string text;               // the model's last text
  codec::json::value structured;  // by response_schema; else null
  Usage usage;                    // of this run, subagents included
  std::optional<double> cost;     // US dollars, likewise; absent: a price is unknown
  std::uint64_t steps = 0;
  std::string thread;
  std::vector<PendingCall> pending;  // kWaiting
  std::string checkpoint;            // kSandboxLost: the last one; empty: none
};

// Observes runs. Called on the agent's executor; a slow observer holds up the run. `thread` is the
// agent's own, or that of a subagent, whose thread_created event names its parent.
class Observer {
 public:
  virtual ~Observer() = default;
  // An event that is in the log.
  virtual void on_event(const std::string& /*thread*/, const ThreadEvent& /*event*/) {}
  // Passing pieces that no log keeps.
  virtual void on_delta(const std::string& /*thread*/, const Delta& /*delta*/) {}
  virtual void on_tool_output(const std::string& /*thread*/, const std::string& /*call_id*/,
                              std::string_view /*bytes*/) {}
};

class AgentImpl;

// Lives on one executor. One run at a time: a second one fails kNotReady (thread_busy).
class Agent {
 public:
  // Opens the thread and its sandbox. An earlier thread keeps its model and its system prompt where
  // the options have none. Fails as make_model, make_provider and Provider::open. Fails
  // kNotFound (thread_not_found) and kNotReady (thread_busy: another process runs it).
  static Task<std::unique_ptr<Agent>> open(asio::any_io_executor executor, AgentOptions options);
  ~Agent();

  const std::string& thread() const;

  // Runs until the model is done. A former run of the thread that did not end is closed first: its
  // calls without a result get one that names the interruption. A run that fails is a value.
  // `observer` may be null.
  Task<RunResult> run(std::string input, Observer* observer);
  // The same for an input with images: texts and media. Fails kInvalidArgument (bad_input) for an
  // input without either, or with an image that is empty or above 20 MiB.
  Task<RunResult> run(std::vector<Block> input, Observer* observer);
  // Goes on with a run that did not end: after a crash, a failure, a limit or a cancel. Fails
  // kNotReady (nothing_to_resume).
  Task<RunResult> resume(Observer* observer);
  // Decides the calls that wait, and goes on. Fails kInvalidArgument (bad_decision) unless each
  // call has one decision.
  Task<RunResult> approve(std::vector<Decision> decisions, Observer* observer);
  std::vector<PendingCall> pending() const;

  // Ends the run that is under way: it returns kCancelled. For a signal handler on the executor.
  void cancel();

  // Drops the events after `to_seq` from the conversation (the log keeps them). With checkpoints,
  // restores the disk from the one of that moment, else from the newest one before it. Fails
  // kNotFound (no_such_event) and kNotReady (thread_busy) during a run.
  Task<void> rewind(std::uint64_t to_seq);

  // Null until the sandbox is there.
  providers::Backend* backend();
  // Removes the sandbox, unless the request named it.
  Task<void> remove_sandbox();

 private:
  explicit Agent(std::shared_ptr<AgentImpl> impl);
  std::shared_ptr<AgentImpl> impl_;
};

}  // namespace cay::agent
