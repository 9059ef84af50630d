#include "api/langsmith/frames.h"

#include "api/common/answer.h"
#include "api/langsmith/boxes_json.h"
#include "model/command_limits.h"

namespace cay::api::langsmith {
namespace {

namespace json = codec::json;

constexpr std::int64_t kMilli = 1000;
constexpr std::int64_t kLongest = 10LL * 365 * 86'400;
constexpr int kSignalBase = 128;

std::int64_t millis_or_never(std::int64_t seconds) { return seconds < 0 ? -1 : seconds * kMilli; }

std::string seconds_text(std::int64_t millis) {
  std::string text = std::to_string(millis / kMilli);
  if (millis % kMilli != 0) text += "." + std::to_string(millis % kMilli);
  return text;
}

// Kept with the command for as long as it is: no word may ever get another meaning.
std::string mark_of(Transport transport) {
  switch (transport) {
    case Transport::kWebSocket: return "langsmith.ws";
    case Transport::kStream: return "langsmith.sse";
    case Transport::kHttp: return "";
  }
  return "";
}

// A program that waits for a worker that was killed for memory only ends at its time limit.
std::string memory_words(const CommandEnd& end) {
  if (end.oom_kills == 0) return {};
  return "; before, the kernel killed " + std::to_string(end.oom_kills) +
         " of its processes at the sandbox's memory limit";
}

}  // namespace

std::string started_frame(const Command& command) {
  return codec::write(
      json::object{{"type", "started"}, {"command_id", command.id.get()}, {"pid", command.pid}});
}

std::string output_frame(Stream stream, const TextPiece& piece) {
  return codec::write(json::object{{"type", stream == Stream::kStdout ? "stdout" : "stderr"},
                                   {"data", piece.text},
                                   {"offset", piece.offset}});
}

EndWords end_words(const Command& command) {
  const CommandEnd& end = command.end;
  switch (end.state) {
    case CommandState::kExited:
      return {.exit_code = end.exit_code, .error_type = {}, .message = {}};
    case CommandState::kSignalled:
    case CommandState::kIdleKilled:
    case CommandState::kOomKilled:
    case CommandState::kKilled:
      return {.exit_code = kSignalBase + end.signal, .error_type = {}, .message = {}};
    case CommandState::kTimedOut:
      return {.error_type = "CommandTimeout",
              .message = "the command was killed after its timeout of " +
                         seconds_text(command.timeout_ms) + " s" + memory_words(end)};
    case CommandState::kRunning:
    case CommandState::kLost: break;
  }
  return {.error_type = "CommandLost",
          .message = "Cay lost this command (not its own failure): " + end.reason};
}

std::string end_frame(const Command& command) {
  const EndWords end = end_words(command);
  if (!end.error_type.empty()) return error_frame(end.error_type, end.message);
  return codec::write(json::object{{"type", "exit"}, {"exit_code", end.exit_code}});
}

std::string error_frame(std::string_view error_type, std::string_view message) {
  return codec::write(
      json::object{{"type", "error"}, {"error", codec::text(message)}, {"error_type", error_type}});
}

Result<void> check_transport(const Command& command, Transport transport) {
  const Transport other =
      transport == Transport::kWebSocket ? Transport::kStream : Transport::kWebSocket;
  if (command.mark != mark_of(other)) return {};
  return Error{Code::kConflict, std::string(kTransportMismatch),
               "command " + command.id.get() +
                   " was started over the other transport (WebSocket or SSE), whose offsets count "
                   "differently: "
                   "go on over that one",
               0};
}

Result<CommandSpec> read_execute(const json::object& in, Transport transport) {
  const bool posted = transport == Transport::kHttp;
  codec::Fields fields(in);
  CommandSpec spec;
  spec.mark = mark_of(transport);
  spec.ignore_mismatch =
      true;  // a repeat's parameters are ignored: protocol reference, section 4.5
  std::string command, shell = "/bin/bash", text;
  const bool has_command = fields.read("command", command, kMaxCommandRequest);
  fields.read("shell", shell);
  bool pty = false;
  if (!posted) {
    std::int64_t number = 60;
    fields.read("timeout_seconds", number, 0, kLongest);
    spec.timeout_ms = number * kMilli;
    number = 300;
    fields.read("idle_timeout_seconds", number, -1, kLongest);
    spec.idle_timeout_ms = millis_or_never(number);
    number = 600;
    fields.read("ttl_seconds", number, -1, kLongest);
    spec.ttl_ms = millis_or_never(number);
    fields.read("kill_on_disconnect", spec.kill_on_disconnect);
    fields.read("close_stdin", spec.close_stdin);
    fields.read("pty", pty);
    if (fields.read("command_id", text)) spec.id = CommandId(text);
    bool forward = false;
    if (fields.read("ssh_agent_forward", forward) && forward) {
      fields.complain("ssh_agent_forward", "is not built yet in Cay");
    }
    if (transport == Transport::kStream) {
      const std::string needs =
          "needs the WebSocket (/execute/ws): a stream of events has no way back";
      if (pty) fields.complain("pty", needs);
      if (spec.kill_on_disconnect) fields.complain("kill_on_disconnect", needs);
      spec.close_stdin = true;
    }
  } else {
    std::int64_t number = 60;
    fields.read("timeout", number, 0, kLongest);
    spec.timeout_ms = number * kMilli;
    // Nobody can come back for the output of a POST: with its caller the command ends.
    spec.kill_on_disconnect = true;
    spec.ttl_ms =
        60 * kMilli;  // its output is read by this request alone, which attaches after it began
    spec.close_stdin = true;  // and nobody can write to it
  }
  if (pty) spec.pty = PtySize{};
  if (shell.empty()) fields.complain("shell", "must be a path such as /bin/bash");
  if (!has_command || (command.empty() && !pty)) fields.complain("command", "is needed");
  spec.shell_line = !command.empty();
  spec.argv = command.empty() ? std::vector<std::string>{shell, "-l"}
                              : std::vector<std::string>{shell, "-c", command};

  std::map<std::string, std::string> env;
  const bool has_env = fields.read("env", env, 1024);
  const bool has_cwd = fields.read("cwd", text) && !text.empty();
  if (fields.has("run_config") && (has_env || has_cwd)) {
    fields.complain("run_config", "cannot be combined with env or cwd: put them into run_config");
  }
  read_run_config(fields, "run_config", spec.run);
  if (has_cwd) spec.run.workdir = text;
  for (auto& [key, value] : env) spec.run.env[key] = std::move(value);
  CAY_CHECK(fields.first_error());
  return spec;
}

}  // namespace cay::api::langsmith
