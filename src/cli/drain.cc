// cay drain: begin nothing new on this host, wait for what runs, then stop or leave.
#include <chrono>
#include <thread>

#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/output.h"
#include "cli/patient.h"
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

}  // namespace

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
        "the daemon was started anew, or somebody undid it, and this host admitted again: it is drained again from now on");
    status = ask("POST", R"({"draining":true})");
  }
  const bool late = status.busy();
  const std::string what =
      counted(status.commands, "command") +
      (status.silent > 0
           ? " (and whatever " + counted(status.silent, "sandbox") + " did not tell of)"
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

}  // namespace cay::cli
