// cay agent: a language model whose tools act in a sandbox.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "cli/actions.h"
#include "cli/agent_actions.h"
#include "cli/agent_settings.h"
#include "cli/command.h"
#include "cli/context.h"
#include "cli/sandbox_words.h"
#include "cli/values.h"
#include "providers/environment.h"

namespace cay::cli {
namespace {

constexpr std::array<Action, 5> kActions{{{"threads", "", 0, 0},
                                          {"show", "THREAD", 1, 1},
                                          {"export", "THREAD", 1, 1},
                                          {"rm", "THREAD…", 1, kAnyNumber},
                                          {"rewind", "THREAD SEQ", 2, 2}}};

constexpr std::uint64_t kMostDepth = 8;

int agent_command(Context& at, const AgentArgs& args) {
  if (args.action == "threads") return agent_threads(at, args);
  if (args.action == "show") return agent_show(at, args);
  if (args.action == "export") return agent_export(at, args);
  if (args.action == "rm") return agent_remove(at, args);
  if (args.action == "rewind") return agent_rewind(at, args);
  if (args.acp) return agent_acp(at, args);
  if (!args.tasks.empty()) return agent_tasks(at, args);
  if (!args.task.empty() || args.resume) return agent_run(at, args);
  return agent_conversation(at, args);
}

// The words are an action with its own words, or one task.
void take_words(std::vector<std::string> words, AgentArgs& args) {
  if (words.empty()) return;
  if (std::ranges::find(kActions, words.front(), &Action::name) != kActions.end()) {
    args.action = words.front();
    args.words.assign(words.begin() + 1, words.end());
    check_words(kActions, args.action, args.words);
    return;
  }
  if (words.size() > 1) wrong("TASK", "has several words: put the task in quotes");
  if (words.front().empty()) wrong("TASK", "is empty");
  args.task = std::move(words.front());
}

// `--resume` takes a thread. A word with a space is a task instead.
void take_resumed(const std::string& word, std::vector<std::string>& words, AgentArgs& args) {
  if (word.find_first_of(" \n\t") != std::string::npos) {
    words.push_back(word);
  } else {
    args.resumed = word;
  }
}

// Returns the price that the option has, else that of the environment.
std::optional<double> price_of(const std::string& text, const char* variable) {
  const std::string given = text.empty() ? providers::first_set({variable}) : text;
  if (given.empty()) return std::nullopt;
  return must(parse_price(given), variable);
}

void check_ways(const AgentArgs& args) {
  const bool has_task = !args.task.empty();
  if (!args.action.empty() && (args.resume || args.acp || !args.tasks.empty()))
    wrong(args.action, "takes no option of a run");
  if (!args.tasks.empty() && (has_task || args.resume || !args.thread.empty()))
    wrong("--tasks", "has the tasks in its file: no TASK, --resume and --thread beside it");
  if (args.acp && (has_task || args.resume || !args.tasks.empty()))
    wrong("--acp", "gets its prompts from the editor");
  if (args.resume && !args.thread.empty()) wrong("--resume and --thread", "name the thread twice");
  if (args.ask_network && !args.tasks.empty())
    wrong("--ask-network", "has nobody to answer for many tasks: give --tasks a --policy");
  if (args.subagent_depth < 1 || args.subagent_depth > kMostDepth)
    wrong("--subagent-depth", "is a number from 1 to 8");
  if (!args.decide.empty() && !args.resume) wrong("--decide", "needs --resume THREAD");
  if (!args.decide.empty() && has_task)
    wrong("--decide", "goes on with the run: no TASK beside it");
  if (!args.snapshot.empty() && !args.image.empty()) wrong("--image", "or --snapshot, not both");
  if (!args.id.empty() && (!args.snapshot.empty() || !args.image.empty() || !args.policy.empty()))
    wrong("--id", "names one that is there: options of a new sandbox do not go with it");
  if (!args.id.empty() && args.remove) wrong("--rm", "does not remove a sandbox of --id");
}

}  // namespace

Command agent_entry() {
  struct State {
    AgentArgs args;
    std::vector<std::string> words;
    std::string resumed, timeout, cost, temperature;
    std::string input_price, output_price, cache_read_price, cache_write_price;
  };
  const auto state = std::make_shared<State>();
  return {
      .name = "agent",
      .help = "Give a task to a language model whose tools act in a sandbox",
      .examples =
          "  cay agent \"Create a hello world Python script and run it\"\n"
          "  cay agent --model openai:qwen3 --base-url http://127.0.0.1:11434/v1 \"…\"\n"
          "  cay agent --model anthropic:claude-sonnet-4-5 --image python:3.12 \"…\"\n"
          "  cay agent                                     a conversation, line by line\n"
          "  cay agent --resume                            goes on with the latest thread\n"
          "  cay agent --approve ask=execute \"…\"           asks before each command\n"
          "  cay agent --hide /secrets --read-only /repo/vendor \"…\"\n"
          "  cay agent --json \"…\" | jq .type               events, one JSON object a line\n"
          "  cay agent --tasks tasks.jsonl --parallel 8 -o out\n"
          "  cay agent --acp                               serves an editor on stdin and "
          "stdout\n"
          "  cay agent threads; cay agent show THREAD; cay agent export THREAD\n"
          "  cay agent rewind THREAD SEQ; cay agent rm THREAD\n\n"
          "The model's key is in OPENAI_API_KEY or ANTHROPIC_API_KEY, and stays in this "
          "program. OPENAI_BASE_URL names another\nserver that speaks OpenAI's API. The exit "
          "code is 0 where the agent is done, 1 where it ended otherwise, 3 where\nit waits "
          "for an approval, 124 after the time limit, 125 where the model, the daemon or the "
          "sandbox failed, and\n130 after Ctrl-C.\n",
      .actions = names_of(kActions),
      .options =
          [state](Options& to) {
            AgentArgs& args = state->args;
            to.arguments("TASK", state->words,
                         "The task, in quotes; - reads it from stdin; or threads, show, "
                         "export, rm, rewind");
            to.text("-m,--model", args.model,
                    "openai:NAME, openai-responses:NAME, anthropic:NAME or NAME "
                    "(default: OPENAI_MODEL or ANTHROPIC_MODEL)");
            to.text("--base-url", args.base_url, "The model's server (default: its vendor's)");
            to.text("--fallback", args.fallback,
                    "The model for requests that the first one's server fails");
            to.number("--context-tokens", args.context_tokens,
                      "How long the model's conversations may be (default: as it is known)");
            to.flag("--calls-by-schema", args.calls_by_schema,
                    "For a model without tool calls of its own: it answers in JSON");
            to.text("--temperature", state->temperature,
                    "Of the model, as 0 or 0.7 (default: its own)");
            to.number("--max-retries", args.max_retries,
                      "Requests to the model after one that failed for a passing reason "
                      "(default: 2)");
            to.text("--system", args.system, "Instructions before the conversation");
            to.choice("--sandbox", args.sandbox, {"cay", "langsmith", "daytona", "local"},
                      "Where tools act: cay (default), langsmith, daytona, or local, where "
                      "nothing is isolated");
            to.text("--snapshot", args.snapshot, "Boot the sandbox from this snapshot");
            to.text("--image", args.image, "Boot it from this container image");
            to.text("--policy", args.policy, "What the sandbox may reach", no_empty_policy);
            to.flag("--ask-network", args.ask_network,
                    "Destinations that no rule of the policy decides wait for your answer "
                    "(policy: packages, or --policy)");
            declare_paths(to, args.read_only, args.hidden);
            to.text("--id", args.id, "Work in this sandbox (default: one for each thread)");
            to.flag("--new-sandbox", args.new_sandbox,
                    "Go on in an empty sandbox if the thread's own is lost");
            to.text("--thread", args.thread, "Give the task to this thread");
            to.maybe_text("-r,--resume", args.resume, state->resumed,
                          "Go on with this thread (default: the latest), and with what broke "
                          "off");
            to.texts("--decide", args.decide,
                     "With --resume: approve, reject=WHY, respond=TEXT or edit=JSON, for the "
                     "calls that wait; repeatable");
            to.texts("--approve", args.approve,
                     "allow, ask or deny, for all calls or =TOOL or =TOOL:PATTERN; the first "
                     "that matches decides; repeatable");
            to.number("--max-steps", args.limits.steps,
                      "At most so many answers of the model (500; 0: no limit)");
            to.number("--max-tokens", args.limits.tokens, "At most so many tokens");
            to.text("--max-cost", state->cost,
                    "At most so many US dollars, with the model's prices");
            to.text("--input-price", state->input_price,
                    "US dollars for a million tokens that the model reads, as 2.50 (default: "
                    "CAY_INPUT_PRICE)");
            to.text("--output-price", state->output_price,
                    "And for those that it writes (CAY_OUTPUT_PRICE). Costs are shown with "
                    "both alone");
            to.text("--cache-read-price", state->cache_read_price,
                    "And for those that its vendor's cache had (default: as --input-price)");
            to.text("--cache-write-price", state->cache_write_price,
                    "And for those that were written to it (default: as --input-price)");
            to.text("--timeout", state->timeout, "End the run after so long, as 90 or 10m");
            to.number("--subagent-depth", args.subagent_depth,
                      "So deep may subagents have subagents (default: 1, they have none; at "
                      "most 8)");
            to.texts("--skills", args.skills, "Directory of skills inside; repeatable");
            to.texts("--memory", args.memory, "File of instructions inside; repeatable");
            to.texts("--mcp", args.mcp,
                     "File of MCP servers, as {\"mcpServers\": {…}}, whose tools the agent "
                     "has; repeatable");
            to.lists("--tools", args.tools,
                     "Offer these tools alone, as execute,read_file (default: all)");
            to.lists("--web", args.web,
                     "Host that web_fetch may reach from here, as *.example.com or *; "
                     "repeatable (default: none, and no web_fetch)");
            to.text("--search-url", args.search_url,
                    "Offer web_search, which asks this service from here, as "
                    "https://search.example.com/?q={query}; CAY_SEARCH_KEY is its key");
            to.flag("--todos", args.todos, "Offer write_todos, the model's own list");
            to.flag("--checkpoint", args.checkpoint,
                    "Keep the disk with the conversation after each run, for rewind");
            to.flag("--rm", args.remove, "Remove the sandbox after the run");
            to.flag("--stream", args.stream, "With --json: passing pieces, too");
            to.text("--tasks", args.tasks, "Run the tasks of this file, a JSON object a line");
            to.number("--parallel", args.parallel, "With --tasks: so many at once (default: 1)");
            to.number("--retries", args.retries,
                      "With --tasks: again after a failure that is not the agent's "
                      "(default: 2)");
            to.text("-o,--output", args.output, "With --tasks: a directory for the results");
            to.flag("--acp", args.acp, "Serve the Agent Client Protocol, for an editor");
          },
      .args = [state](const Line& line) -> std::any {
        AgentArgs args = state->args;
        std::vector<std::string> words = state->words;
        if (!state->resumed.empty()) take_resumed(state->resumed, words, args);
        take_words(std::move(words), args);
        if (!state->timeout.empty())
          args.limits.timeout_s = must(parse_duration(state->timeout), "--timeout");
        if (!state->cost.empty()) args.limits.cost = must(parse_cost(state->cost), "--max-cost");
        if (!state->temperature.empty())
          args.temperature = must(parse_temperature(state->temperature), "--temperature");
        args.prices = {.input = price_of(state->input_price, "CAY_INPUT_PRICE"),
                       .output = price_of(state->output_price, "CAY_OUTPUT_PRICE"),
                       .cache_read = price_of(state->cache_read_price, "CAY_CACHE_READ_PRICE"),
                       .cache_write = price_of(state->cache_write_price, "CAY_CACHE_WRITE_PRICE")};
        for (const std::string& rule : args.approve) must(parse_rule(rule), "--approve");
        check_ways(args);
        const bool is_run = !args.task.empty() || args.resume || args.acp || !args.tasks.empty() ||
                            !args.action.empty();
        if (!is_run && (line.json || ::isatty(STDIN_FILENO) != 1)) missing("TASK");
        return args;
      },
      .run = runs(agent_command)};
}

}  // namespace cay::cli
