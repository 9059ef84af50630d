// A conversation with an agent, line by line.
#include <charconv>
#include <optional>
#include <string>

#include "agent/llm/message.h"
#include "cli/agent_actions.h"
#include "cli/agent_session.h"
#include "cli/agent_text.h"
#include "cli/exit_code.h"
#include "cli/output.h"

namespace cay::cli {
namespace {

namespace json = codec::json;

constexpr const char* kChatHelp =
    "  /cost         tokens and cost of this conversation\n"
    "  /rewind       lists your messages with their numbers\n"
    "  /rewind SEQ   forgets that message and all after it\n"
    "  /exit         ends; the thread can be resumed\n"
    "  A line that ends with \\ goes on in the next one. Ctrl-C stops the agent's run.\n";

struct Totals {
  agent::Usage usage;
  double cost = 0;
  std::uint64_t steps = 0;
  bool priced = true;

  void add(const agent::RunResult& result) {
    usage += result.usage;
    steps += result.steps;
    priced = priced && result.cost.has_value();
    cost += result.cost.value_or(0);
  }
  std::string text() const {
    return grouped(steps) + " steps, " + grouped(usage.input) + " tokens in, " +
           grouped(usage.output) + " out, " +
           (priced ? dollars(cost)
                   : std::string("cost unknown: give --input-price and --output-price"));
  }
};

std::string text_of(const agent::ThreadEvent& event) {
  const json::value* value = event.data.if_contains("message");
  if (value == nullptr || !value->is_object()) return {};
  const auto message = agent::message_from_json(value->get_object());
  return message ? message->text() : std::string();
}

// Lines that are joined by a backslash at their ends.
std::optional<std::string> read_input(const Questioner& terminal) {
  std::string out;
  for (const char* prompt = "> ";; prompt = "… ") {
    const auto line = terminal.read_line(prompt);
    if (!line) return std::nullopt;
    out += *line;
    if (!out.ends_with('\\')) return out;
    out.back() = '\n';
  }
}

void rewind(AgentSession& session, const std::string& words) {
  const auto events = session.events();
  if (words.empty()) {
    for (const auto& event : events) {
      if (event.type == "user_message" && !event.data.contains("note"))
        write_all(STDERR_FILENO,
                  "  " + std::to_string(event.seq) + "  " + first_lines(text_of(event), "", 1));
    }
    return;
  }
  std::uint64_t seq = 0;
  const auto [end, failed] = std::from_chars(words.data(), words.data() + words.size(), seq);
  if (failed != std::errc() || end != words.data() + words.size() || seq == 0) {
    print_error("/rewind takes the number of a message, as /rewind lists them");
    return;
  }
  session.rewind(seq - 1);
  print_error("that message and all after it are forgotten");
}

// Returns false at the end.
bool command(AgentSession& session, const std::string& line, const Totals& totals) {
  if (line == "/exit" || line == "/quit") return false;
  if (line == "/cost") {
    print_error(totals.text());
  } else if (line == "/rewind" || line.starts_with("/rewind ")) {
    constexpr std::size_t kWord = 8;
    rewind(session, line.size() > kWord ? line.substr(kWord) : std::string());
  } else {
    write_all(STDERR_FILENO, kChatHelp);
  }
  return true;
}

}  // namespace

int agent_conversation(Context& at, const AgentArgs& args) {
  AgentSession session(at, args);
  const Questioner terminal = terminal_questioner();
  Totals totals;
  print_error("thread " + session.thread() + ". /help lists what a line may be besides a message");
  for (;;) {
    const auto line = read_input(terminal);
    if (!line) break;
    if (line->find_first_not_of(" \t\n") == std::string::npos) continue;
    try {
      if (line->front() == '/') {
        if (!command(session, *line, totals)) break;
        continue;
      }
      const auto result = session.run(*line);
      totals.add(result);
      if (!result.message.empty()) print_error(result.message);
    } catch (const ApiError& error) {
      print_error(error.what());
    }
  }
  if (args.remove) session.remove_sandbox();
  print_error("go on with: cay agent --resume " + session.thread());
  return kOk;
}

}  // namespace cay::cli
