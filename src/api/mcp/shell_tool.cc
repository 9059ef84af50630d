// The tool `shell`: a shell that lives between calls, found again by its name.
#include <chrono>

#include "api/mcp/results.h"
#include "api/mcp/tool_limits.h"
#include "api/mcp/tools.h"
#include "codec/kept_output.h"
#include "core/answer_room.h"
#include "core/verbs/contexts.h"
#include "core/verbs/sandboxes.h"

namespace cay::api::mcp {
namespace {

using std::chrono::milliseconds;

constexpr double kUsualShellTimeout = 600;          // seconds
constexpr std::uint64_t kMostOfEvents = 16u << 20;  // bytes that one evaluation may hold
constexpr milliseconds kAfterTimeout{15'000};       // a shell has ended its call by then
constexpr milliseconds kWithoutTimeout{std::chrono::hours(24)};

// The output of one call of a shell.
struct ShellOutput {
  explicit ShellOutput(std::uint64_t most) : out(most), err(most), background(most) {}
  codec::KeptOutput out, err, background;
  std::uint64_t out_bytes = 0, err_bytes = 0, background_bytes = 0;
  std::string notes;

  void add(const ContextEvent& event) {
    using Kind = ContextEvent::Kind;
    switch (event.kind) {
      case Kind::kStdout: append(out, out_bytes, event.text); break;
      case Kind::kStderr: append(err, err_bytes, event.text); break;
      case Kind::kBackground: append(background, background_bytes, event.text); break;
      case Kind::kError: notes += "[" + event.name + ": " + event.text + "]\n"; break;
      case Kind::kGap:
        notes += "[" + std::to_string(event.bytes) + " bytes of output were dropped]\n";
        break;
      case Kind::kDisplay:
      case Kind::kResult:
      case Kind::kUnreadable: break;
    }
  }

 private:
  static void append(codec::KeptOutput& to, std::uint64_t& bytes, const std::string& text) {
    to.add(bytes, text);
    bytes += text.size();
  }
};

std::string end_of_call(const Evaluation& got) {
  const std::string code = got.exit_code ? "exit code " + std::to_string(*got.exit_code) : "";
  std::string out = code;
  if (got.state == EvaluationState::kRunning) out = "it is still running";
  if (got.state == EvaluationState::kTimedOut) out = "it was ended at its time limit, " + code;
  if (got.state == EvaluationState::kInterrupted) out = "it was interrupted, " + code;
  if (got.state == EvaluationState::kLost) out = "the shell ended before it could report the end";
  if (got.ended) out += ", and the shell has ended: call with restart to begin a new one";
  return got.cwd.empty() ? out : out + ", in " + got.cwd;
}

json::object shell_result(const Evaluation& got, ShellOutput& output, const Call& call) {
  const std::string out = output.out.take().bytes;
  const std::string err = output.err.take().bytes;
  const std::string background = output.background.take().bytes;
  std::string text;
  const auto add = [&text](const std::string& head, const std::string& more) {
    if (more.empty()) return;
    if (!text.empty() && !text.ends_with('\n')) text += '\n';
    text += head + more;
  };
  add("[background jobs of earlier calls]\n", background);
  add(background.empty() ? "" : "[this call]\n", out);
  add("[stderr]\n", err);
  add("", output.notes);
  add("", "[" + end_of_call(got) + "]");
  json::object facts{{"sandbox", codec::text(call.sandbox())},
                     {"session", got.context},
                     {"call_id", got.id},
                     {"state", to_string(got.state)},
                     {"stdout", codec::text(out)},
                     {"stderr", codec::text(err)},
                     {"background", codec::text(background)},
                     {"stdout_bytes", output.out_bytes},
                     {"stderr_bytes", output.err_bytes},
                     {"cwd", codec::text(got.cwd)},
                     {"ended", got.ended}};
  facts["exit_code"] = got.exit_code ? json::value(*got.exit_code) : nullptr;
  return got.state == EvaluationState::kOk ? text_result(text, std::move(facts))
                                           : failed_result(text, std::move(facts));
}

Error with_way_out(Error error) {
  if (error.reason == "context_gone") error.message += " (this tool does it with restart)";
  return error;
}

// Finds the shell, makes it at its first use, and restarts it if the caller wants that.
Task<Context> find_shell(Call call, std::string sandbox, std::string session) {
  ContextSpec spec{.id = session, .language = "bash", .run = {}};
  if (call.arguments.flag("restart")) {
    auto restarted = co_await call.cay->contexts().restart(call.who(), sandbox, session);
    if (restarted || restarted.error().reason != "unknown_context") co_return restarted;
  }
  auto made = co_await call.cay->contexts().create(call.who(), sandbox, std::move(spec));
  if (!made) co_return with_way_out(std::move(made).error());
  co_return made;
}

}  // namespace

Task<json::object> run_in_shell(Call call) {
  const std::string session = call.arguments.text("session", "shell");
  if (!call.arguments.has("command") && !call.arguments.flag("restart"))
    co_return invalid("invalid_field", "command: is needed");
  const auto most =
      static_cast<std::uint64_t>(call.arguments.integer("max_output_bytes", kUsualOutput));
  const auto part = call.cay->answers().begin(call.who().tenant);
  CAY_CO_CHECK(part->check(kMostOfEvents + 3 * most));
  // By its id from here on: the name may be another sandbox's while the call runs.
  auto box = co_await call.cay->sandboxes().get(call.who(), call.sandbox());
  if (!box) co_return std::move(box).error();
  const std::string sandbox = box->id.get();
  call.exchange->note_subject("context " + session + " of sandbox " + box->name);
  CAY_CO_TRY(const Context shell, co_await find_shell(call, sandbox, session));
  if (!call.arguments.has("command")) {
    co_return text_result("[a new shell]",
                          {{"sandbox", codec::text(call.sandbox())}, {"session", shell.id}});
  }
  EvaluationSpec spec{.id = {}, .code = call.arguments.text("command")};
  spec.input = call.arguments.text("stdin");
  const double limit = call.arguments.number("timeout_s", kUsualShellTimeout);
  constexpr double kMillis = 1000;
  spec.timeout_ms = static_cast<std::uint64_t>(limit * kMillis);
  spec.interrupt_on_cancel = true;
  const milliseconds wait =
      spec.timeout_ms > 0 ? milliseconds(spec.timeout_ms) + kAfterTimeout : kWithoutTimeout;
  auto got =
      co_await call.cay->contexts().evaluate(call.who(), sandbox, session, std::move(spec), wait);
  if (!got) co_return with_way_out(std::move(got).error());
  ShellOutput output(most);
  for (;;) {
    for (const ContextEvent& event : got->events) output.add(event);
    if (!got->more) break;
    const std::string id = got->id;
    const ContextPlace next = got->next;
    const core::Contexts::Patience patience{.wait = wait};
    auto rest =
        co_await call.cay->contexts().evaluation(call.who(), sandbox, session, id, next, patience);
    if (!rest) co_return std::move(rest).error();
    got = std::move(rest);
  }
  co_return shell_result(*got, output, call);
}

}  // namespace cay::api::mcp
