// Agent: a language model whose tools act in a sandbox. The agent, its state and its keys stay in
// this process, and the model's commands run inside. Everything throws cay::ApiError.
//
//   auto agent = cay::create_agent({.model = "openai:gpt-4.1", .system_prompt = "Be brief."});
//
//   auto got = agent.invoke("Create a hello world Python script and run it");
//
//   std::cout << got.text;
//
// The model's key comes from OPENAI_API_KEY or ANTHROPIC_API_KEY, and the daemon's address from
// CAY_URL, unless the options have them.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cay/error.h"

namespace cay::sdk {

// A tool of the embedding program. It runs in this process, outside the sandbox.
struct AgentTool {
  std::string name;
  std::string description;
  // A JSON schema of type "object".
  std::string parameters = R"({"type":"object","properties":{}})";
  // Receives the model's arguments as JSON and returns the text that the model reads. A thrown
  // std::exception becomes the text "Error: …". Called from the agent's own thread.
  std::function<std::string(const std::string& arguments)> run;
  // A call that a crash cut off is run once more. Else the model reads that its outcome is unknown.
  bool repeatable = false;
};

// AgentPrices: a model's prices, in US dollars for a million tokens.
struct AgentPrices {
  double input = 0, output = 0;
  // For input that the vendor's cache had, and for input that it took. Absent: as `input`.
  std::optional<double> cache_read{}, cache_write{};
};

struct AgentSubagent {
  std::string name;
  std::string description;  // by it the model chooses
  std::string system_prompt;
  std::string model{};                  // empty: the agent's
  std::optional<AgentPrices> prices{};  // of `model`
  // shared, own or forked. One of its own is removed when the call has a result, or with the
  // agent's. After a stop or a failure it stays for resume().
  std::string sandbox = "shared";
  std::string response_schema{};     // JSON
  std::vector<std::string> tools{};  // empty: all
};

// The first rule that matches a call decides. A call without one is allowed. See
// docs/guide/agent.md.
struct AgentRule {
  std::string tool;             // "execute"; * and ? are wildcards
  std::string pattern{};        // of the main argument, such as the command; empty: any
  std::string verdict = "ask";  // "allow", "ask" or "deny"
};

// Bounds of one run. Tokens and cost are those of the agent and its subagents together. Each loop
// that runs compares them before it calls the model, and so passes them by one answer at most.
struct AgentLimits {
  std::uint64_t steps = 500;  // calls of the model, of each subagent too; 0: no limit
  std::uint64_t tokens = 0;   // 0: no limit
  double cost = 0;            // US dollars, with `prices`; 0: no limit
  double time_s = 0;          // 0: no limit
};

struct AgentOptions {
  // "openai:NAME", "openai-responses:NAME", "anthropic:NAME", or a NAME of the vendor whose key the
  // environment has. Empty: OPENAI_MODEL or ANTHROPIC_MODEL.
  std::string model{};
  std::string system_prompt{};
  std::string backend = "cay";  // cay, langsmith or local
  std::string base_url{};
  std::string api_key{};
  std::optional<double> temperature{};
  std::uint32_t max_retries = 2;
  std::optional<AgentPrices> prices{};  // absent: unknown, and no cost is reported

  std::string sandbox{};   // an existing sandbox; empty: one for each thread
  std::string snapshot{};  // of a new sandbox
  std::string policy{};    // of a new sandbox's way out
  // Absolute paths that neither a tool nor a command changes, or reads. A sandbox has these rules
  // from its creation.
  std::vector<std::string> read_only_paths{}, hidden_paths{};
  bool checkpoint = false;  // keeps the disk with the conversation after each run

  std::vector<AgentTool> tools{};
  std::vector<AgentSubagent> subagents{};
  std::uint32_t subagent_depth = 1;  // above 1 subagents have subagents
  std::vector<AgentRule> rules{};
  AgentLimits limits{};
  // Hosts that web_fetch may reach from this process, as "*.example.com" or "*". Empty: it is not
  // offered.
  std::vector<std::string> web_hosts{};
  // The service of web_search, as "https://search.example.com/?q={query}", and its bearer token.
  // Empty: it is not offered.
  std::string search_url{}, search_key{};
  bool todos = false;                 // offers write_todos
  std::vector<std::string> skills{};  // directories of skills in the sandbox
  std::vector<std::string> memory{};  // AGENTS.md files in the sandbox
  std::string response_schema{};      // JSON: the answer's `structured` follows it

  std::string state_path{};  // of the threads' log; empty: that of `cay agent`
  std::string thread{};      // an earlier thread; empty: a new one
};

struct AgentCall {
  std::string id;
  std::string name;
  std::string arguments;  // JSON, as the model wrote it
};

struct AgentAnswer {
  std::string state;       // done, failed, cancelled, limit, sandbox_lost or waiting
  std::string reason;      // a stable word, where it is not done
  std::string message;     // the same for people
  std::string text;        // the model's last text
  std::string structured;  // JSON by response_schema; else empty
  std::uint64_t input_tokens = 0, output_tokens = 0;
  std::optional<double> cost;  // US dollars; absent: a price is unknown
  std::uint64_t steps = 0;
  std::string thread;
  std::vector<AgentCall> pending;  // waiting: the calls that need a decision
};

struct AgentDecision {
  std::string call_id;
  std::string type = "approve";  // approve, edit, reject or respond
  std::string arguments{};       // edit: JSON
  std::string message{};         // reject, respond
};

// Called from the agent's own thread while a run goes on.
struct AgentCallbacks {
  std::function<void(std::string_view text)> on_text{};
  // One event of the thread's log as a line of JSON, without its newline.
  std::function<void(const std::string& json)> on_event{};
  std::function<void(const std::string& call_id, std::string_view bytes)> on_output{};
};

struct AgentState;  // of the implementation

// A handle: cheap to copy. One call at a time.
class Agent {
 public:
  // A run that ends otherwise than done is no exception: see AgentAnswer::state.
  AgentAnswer invoke(const std::string& input, const AgentCallbacks& callbacks = {}) const;
  // Decides the calls of an answer whose state is waiting, and goes on.
  AgentAnswer approve(const std::vector<AgentDecision>& decisions,
                      const AgentCallbacks& callbacks = {}) const;
  // Goes on with a run that did not end, also in another process than it began in.
  AgentAnswer resume(const AgentCallbacks& callbacks = {}) const;
  // Drops what came after the event `to_seq`, and restores the disk's checkpoint of that moment.
  void rewind(std::uint64_t to_seq) const;
  // The thread's events, one JSON object a line.
  std::string export_jsonl() const;
  void cancel() const;  // from any thread: the run returns with state cancelled
  const std::string& thread() const;
  void remove_sandbox() const;

  explicit Agent(std::shared_ptr<AgentState> state) : state_(std::move(state)) {}

 private:
  std::shared_ptr<AgentState> state_;
};

Agent create_agent(const AgentOptions& options);

}  // namespace cay::sdk

namespace cay {
using sdk::AgentOptions;
using sdk::create_agent;
}  // namespace cay
