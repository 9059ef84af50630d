// cay drain: begin nothing new on this host, wait for what runs, then stop or leave.
#include <chrono>
#include <memory>
#include <thread>

#include "cli/args.h"
#include "cli/command.h"
#include "cli/context.h"
#include "cli/exit_code.h"
#include "cli/output.h"
#include "cli/patient.h"
#include "cli/values.h"
#include "codec/json.h"

namespace cay::cli {
namespace {

using Clock = std::chrono::steady_clock;
constexpr auto kLook = std::chrono::milliseconds(250);
constexpr const char* kRoute = "/api/v1/drain";

struct Status {
  std::string json;
  bool draining = false;
  std::int64_t sandboxes = 0, commands = 0, silent = 0;
  bool busy() const { return commands > 0 || silent > 0; }
};

Status status_from(std::string text) {
  Status out;
  auto parsed = codec::parse_object(text);
  if (!parsed)
    throw ApiError(ErrorCode::kInternal, "bad_answer", "the daemon's answer cannot be read");
  const auto number = [&](const char* name) {
    const auto* value = parsed->if_contains(name);
    return value != nullptr && value->is_int64() ? value->get_int64() : 0;
  };
  const auto* draining = parsed->if_contains("draining");
  out.draining = draining != nullptr && draining->is_bool() && draining->get_bool();
  out.sandboxes = number("running_sandboxes");
  out.commands = number("running_commands");
  out.silent = number("silent_sandboxes");
  out.json = std::move(text);
  return out;
}

std::string counted(std::int64_t number, const std::string& one) {
  return std::to_string(number) + " " + one + (number == 1 ? "" : one.ends_with("x") ? "es" : "s");
}

int drain_command(Context& at, const DrainArgs& args) {
  if (args.undo) {
    const Status status = status_from(at.client.request("POST", kRoute, R"({"draining":false})"));
    print(at.json ? status.json + "\n" : "This host admits again.\n");
    return kOk;
  }
  const auto end = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                      std::chrono::duration<double>(args.timeout_s));
  // Waits for a daemon that restarts, however long the commands have: its answer then counts.
  const auto ask = [&](const char* method, const std::string& body) {
    return status_from(*patient_request(at, method, kRoute, body, sleeping()));
  };
  Status status = status_from(at.client.request("POST", kRoute, R"({"draining":true})"));
  while (status.busy() && Clock::now() < end) {
    std::this_thread::sleep_for(kLook);
    status = ask("GET", "");
    if (status.draining) continue;
    print_error(
        "the daemon was started anew, or somebody undid it, and this host admitted again: it is "
        "drained again from now on");
    status = ask("POST", R"({"draining":true})");
  }
  const bool late = status.busy();
  const std::string what =
      counted(status.commands, "command") +
      (status.silent > 0
           ? " (and whatever " + counted(status.silent, "sandbox") + " did not report)"
           : "");
  if (late && !args.stop)
    print_error("the time is over: " + what +
                " still running; nothing new begins. `cay drain --undo` admits again");
  if (args.stop) {
    if (late) print_error("the time is over: " + what + " ended with the sandboxes");
    status = ask("POST", R"({"draining":true,"stop_sandboxes":true})");
  }
  if (at.json) {
    print(status.json + "\n");
  } else if (!late || args.stop) {
    print("Drained: no command runs, " + counted(status.sandboxes, "sandbox") +
          " up. `cay drain --undo` admits again.\n");
  }
  return late ? kTimedOut : kOk;
}

}  // namespace

Command drain_entry() {
  struct State {
    DrainArgs args;
    std::string timeout;
  };
  const auto state = std::make_shared<State>();
  return {
      .name = "drain",
      .help = "Begin nothing new on this host, and wait for running commands",
      .examples =
          "  cay drain --timeout 10m --stop            then the host may be upgraded or switched "
          "off\n"
          "  cay drain --timeout 0                     begin nothing new; do not wait\n"
          "  cay drain --undo\n\n"
          "Exit code 0: no command runs any more. 124: the time was over first; with --stop what "
          "still ran was ended.\n",
      .group = kHostGroup,
      .options =
          [state](Options& to) {
            to.text("--timeout", state->timeout, "Wait so long for running commands (default: 5m)");
            to.flag("--stop", state->args.stop,
                    "Then stop every sandbox (default: leave them running)");
            to.flag("--undo", state->args.undo, "Admit again");
          },
      .args = [state](const Line&) -> std::any {
        if (!state->timeout.empty())
          state->args.timeout_s = must(parse_duration(state->timeout), "--timeout");
        if (state->args.stop && state->args.undo) wrong("--undo", "and --stop do not go together");
        return state->args;
      },
      .run = runs(drain_command)};
}

}  // namespace cay::cli
