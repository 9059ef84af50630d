#include "cli/agent_approvals.h"

#include <utility>

#include "cli/agent_calls.h"
#include "cli/agent_text.h"

namespace cay::cli {
namespace {

namespace json = codec::json;
using Type = agent::Decision::Type;

constexpr const char* kPrompt = "  [a]pprove, [r]eject, [e]dit, re[s]pond? ";
constexpr const char* kHelp =
    "  a: run it as it is\n  r: do not run it; the agent reads why\n"
    "  e: run it with other arguments\n  s: answer in place of the tool\n";

std::string command_of(const agent::PendingCall& call) {
  const auto arguments = codec::parse_object(call.arguments);
  const json::value* command = arguments ? arguments->if_contains("command") : nullptr;
  return call.name == "execute" && command != nullptr && command->is_string()
             ? std::string(command->get_string())
             : std::string();
}

// A line for people: the command of execute, else the arguments as JSON. Each is complete, since it
// is what the decision is about.
std::string shown(const agent::PendingCall& call) {
  const std::string command = command_of(call);
  std::string out;
  std::string_view rest = command.empty() ? std::string_view(call.arguments) : command;
  while (!rest.empty()) {
    const auto end = rest.find('\n');
    out += "    " + shown_lines(rest.substr(0, end)) + "\n";
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
  }
  return out;
}

// Reads the arguments that replace the call's. False: the input has ended.
bool edit(const agent::PendingCall& call, const Questioner& questioner, agent::Decision& decision) {
  const bool is_command = !command_of(call).empty();
  for (;;) {
    const auto line =
        questioner.read_line(is_command ? "  new command: " : "  new arguments (JSON): ");
    if (!line) return false;
    json::object arguments;
    if (is_command) {
      arguments = *codec::parse_object(call.arguments);
      arguments["command"] = *line;
    } else {
      auto parsed = codec::parse_object(*line);
      if (!parsed) {
        questioner.note("  " + parsed.error().message + "\n");
        continue;
      }
      arguments = *std::move(parsed);
    }
    decision.type = Type::kEdit;
    decision.arguments = codec::write(arguments);
    return true;
  }
}

std::optional<agent::Decision> ask_one(const agent::PendingCall& call,
                                       const Questioner& questioner) {
  agent::Decision out{.call_id = call.call_id, .seen = call.arguments};
  for (;;) {
    const auto line = questioner.read_line(kPrompt);
    if (!line) return std::nullopt;
    if (*line == "a" || *line == "approve") return out;
    if (*line == "r" || *line == "reject") {
      const auto why = questioner.read_line("  why (may be empty): ");
      if (!why) return std::nullopt;
      out.type = Type::kReject;
      out.message = *why;
      return out;
    }
    if (*line == "s" || *line == "respond") {
      const auto text = questioner.read_line("  answer: ");
      if (!text) return std::nullopt;
      out.type = Type::kRespond;
      out.message = *text;
      return out;
    }
    if (*line == "e" || *line == "edit") {
      if (!edit(call, questioner, out)) return std::nullopt;
      return out;
    }
    questioner.note(kHelp);
  }
}

}  // namespace

std::string pending_text(const std::vector<agent::PendingCall>& calls, bool colour) {
  std::string out;
  for (const agent::PendingCall& call : calls)
    out += painted("? " + shown_lines(call.name), Paint::kHead, colour) + "\n" + shown(call);
  return out;
}

std::optional<std::vector<agent::Decision>> ask_decisions(
    const std::vector<agent::PendingCall>& calls, const Questioner& questioner) {
  std::vector<agent::Decision> out;
  for (const agent::PendingCall& call : calls) {
    questioner.note(pending_text({call}, questioner.colour));
    auto decision = ask_one(call, questioner);
    if (!decision) return std::nullopt;
    out.push_back(*std::move(decision));
  }
  return out;
}

}  // namespace cay::cli
