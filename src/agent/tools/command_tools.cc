// execute, the commands in the background, and run_code.
#include <utility>

#include "agent/tools/arguments.h"
#include "agent/tools/kit.h"
#include "agent/tools/tool_text.h"
#include "async/deadline.h"
#include "codec/utf8.h"

namespace cay::agent {
namespace {

std::string whole_seconds(double value) { return std::to_string(static_cast<std::int64_t>(value)); }

// The timeout of a call, in deepagents' bounds. Failures are in `arguments`.
std::optional<double> timeout_of(const Kit& kit, Arguments& arguments) {
  auto timeout = arguments.seconds("timeout");
  if (!timeout) return timeout;
  const auto most = static_cast<double>(kit.options.max_execute_timeout_s);
  if (*timeout < 0) {
    arguments.complain("timeout must be non-negative, got " + whole_seconds(*timeout) + ".");
  } else if (*timeout > most) {
    arguments.complain("timeout " + whole_seconds(*timeout) + "s exceeds maximum allowed (" +
                       whole_seconds(most) + "s).");
  }
  return timeout;
}

Task<ToolResult> start_background(KitPtr kit, std::string command,
                                  providers::ExecuteOptions options) {
  auto started = co_await kit->backend->start(std::move(command), std::move(options));
  if (!started) {
    if (is_infrastructure(started.error())) co_return std::move(started).error();
    co_return refused(started.error().message);
  }
  auto out = ToolResult::of("Started in the background with id " + *started +
                            ". Use execute_status to read its output, execute_input to write to "
                            "it and execute_kill to end it.");
  out.artifact["id"] = *started;
  co_return out;
}

ToolResult result_of(const providers::Executed& ran, std::optional<double> timeout) {
  auto out = ToolResult::of(execute_text(ran, timeout));
  out.artifact["exit_code"] = ran.shell_exit_code();
  out.artifact["state"] = ran.state;
  out.artifact["total_bytes"] = ran.total_bytes;
  return out;
}

Task<ToolResult> run_execute(KitPtr kit, json::object from, ToolContext context) {
  Arguments arguments(from);
  auto command = arguments.text("command");
  const auto timeout = timeout_of(*kit, arguments);
  const bool background = arguments.flag_or("background", false);
  if (command.find('\0') != std::string::npos) arguments.complain("the command has a NUL in it");
  if (!arguments.fault().empty()) co_return refused(arguments.fault());

  providers::ExecuteOptions options;
  options.id = context.execution_id;
  options.timeout_s = timeout;
  options.keep = kit->options.max_output_bytes;
  options.on_output = context.on_output;
  if (background) {
    auto started = co_await start_background(kit, std::move(command), std::move(options));
    co_return started;
  }
  auto ran = co_await kit->backend->execute(std::move(command), std::move(options));
  if (!ran) {
    if (is_infrastructure(ran.error())) co_return std::move(ran).error();
    co_return refused(ran.error().message);
  }
  co_return result_of(*ran, timeout);
}

// The command goes on in the sandbox when its reader leaves.
Task<std::optional<ToolResult>> stop_execute(KitPtr kit, json::object from, ToolContext context) {
  constexpr Millis kFirst{50};
  constexpr Millis kLast{800};  // in all 1.6 s, for a start that is on its way
  if (Arguments(from).flag_or("background", false)) co_return std::nullopt;
  for (Millis pause = kFirst;; pause *= 2) {
    auto ended = co_await kit->backend->stop(context.execution_id, kit->options.max_output_bytes);
    if (ended) {
      if (!ended->exit_code) ended->reason = "the run was stopped";
      co_return result_of(*ended, std::nullopt);
    }
    if (ended.error().reason != "unknown_command") co_return std::move(ended).error();
    if (pause > kLast) {
      co_return ToolResult::failure("Error: the run was stopped before the command began.");
    }
    co_await sleep_for(pause);
  }
}

Task<ToolResult> run_status(KitPtr kit, json::object from, ToolContext) {
  Arguments arguments(from);
  const auto id = arguments.text("id");
  const auto known = static_cast<std::int64_t>(kit->read[id]);
  const std::int64_t offset = arguments.number_or("offset", known);
  const double wait = arguments.seconds("wait").value_or(0);
  if (offset < 0) arguments.complain("offset must be non-negative");
  if (wait < 0 || wait > 600) arguments.complain("wait is 0 to 600 seconds");
  if (!arguments.fault().empty()) co_return refused(arguments.fault());
  auto polled = co_await kit->backend->poll(id, static_cast<std::uint64_t>(offset), wait);
  if (!polled) {
    if (is_infrastructure(polled.error())) co_return std::move(polled).error();
    co_return refused(polled.error().message);
  }
  kit->read[id] = polled->next;
  std::string text;
  if (polled->running()) {
    text = std::move(polled->output) + "\n[Command is running. Its next output is at offset " +
           std::to_string(polled->next) + "]";
  } else {
    providers::Executed ended;
    ended.output = std::move(polled->output);
    ended.state = polled->state;
    ended.exit_code = polled->exit_code;
    text = execute_text(ended, std::nullopt);
  }
  auto out = ToolResult::of(codec::sanitised_utf8(text));
  out.artifact["state"] = polled->state;
  if (polled->exit_code) out.artifact["exit_code"] = *polled->exit_code;
  out.artifact["next"] = polled->next;
  co_return out;
}

Task<ToolResult> run_input(KitPtr kit, json::object from, ToolContext) {
  Arguments arguments(from);
  const auto id = arguments.text("id");
  auto text = arguments.text_or("text", {});
  const bool close = arguments.flag_or("close", false);
  if (text.empty() && !close) arguments.complain("give a text, or close: true");
  if (!arguments.fault().empty()) co_return refused(arguments.fault());
  const auto bytes = text.size();
  auto written = co_await kit->backend->write_input(id, std::move(text), close);
  if (!written) {
    if (is_infrastructure(written.error())) co_return std::move(written).error();
    co_return refused(written.error().message);
  }
  co_return ToolResult::of("Wrote " + std::to_string(bytes) + " bytes" +
                           (close ? " and closed the input." : "."));
}

Task<ToolResult> run_kill(KitPtr kit, json::object from, ToolContext) {
  Arguments arguments(from);
  const auto id = arguments.text("id");
  if (!arguments.fault().empty()) co_return refused(arguments.fault());
  auto killed = co_await kit->backend->kill(id);
  if (!killed) {
    if (is_infrastructure(killed.error())) co_return std::move(killed).error();
    co_return refused(killed.error().message);
  }
  co_return ToolResult::of("Killed " + id);
}

std::string code_text(const providers::CodeRun& ran) {
  auto shown = ran.run;
  if (ran.phase != "run" && !ran.phase.empty()) {
    shown.output = "[The " + ran.phase + " failed: the program did not start]\n" + shown.output;
  }
  for (const auto& artifact : ran.artifacts) {
    shown.output += "\n[Output file: " + artifact + "]";
  }
  for (const auto& note : ran.notes) shown.output += "\n[" + note + "]";
  return execute_text(shown, std::nullopt);
}

Task<ToolResult> run_program(KitPtr kit, json::object from, ToolContext) {
  Arguments arguments(from);
  providers::CodeRequest request;
  request.language = arguments.text("language");
  request.code = arguments.text("code");
  request.input = arguments.text_or("stdin", {});
  request.libraries = arguments.texts("libraries");
  request.timeout_s = timeout_of(*kit, arguments);
  if (!arguments.fault().empty()) co_return refused(arguments.fault());
  auto ran = co_await kit->backend->run_code(std::move(request));
  if (!ran) {
    if (is_infrastructure(ran.error())) co_return std::move(ran).error();
    co_return refused(ran.error().message);
  }
  auto out = ToolResult::of(code_text(*ran));
  out.artifact["exit_code"] = ran->run.shell_exit_code();
  co_return out;
}

// The program has ended with its caller (Backend::run_code), and its output with it.
Task<std::optional<ToolResult>> stop_program(KitPtr, json::object, ToolContext) {
  auto out = ToolResult::of(
      "[Program ended as killed: the run was stopped. Its output is lost, and what it changed is "
      "as it left it]");
  out.artifact["state"] = "killed";
  co_return out;
}

ToolSpec execute_spec(bool background) {
  Schema schema;
  schema.text("command", "The command line, for sh")
      .number("timeout", "Seconds until it is ended. 0: no limit. Overrides the default");
  std::string description =
      "Runs a command in the sandbox and returns its output and exit code. Each call is a new "
      "shell: it keeps no directory and no variable of the last one. Use absolute paths, and avoid "
      "cd. Join commands that depend on each other with &&, others with ;. To look at files, "
      "prefer read_file, ls, glob and grep over cat, ls, find and grep.";
  if (background) {
    schema.flag("background",
                "Returns at once with an id, and the command runs on (default false)");
    description += " Start servers and other long commands with background: true.";
  }
  return {"execute", std::move(description), schema.take()};
}

void add_background_tools(Tools& tools, const KitPtr& kit) {
  constexpr std::string_view kId = "The id that execute returned";
  tools.push_back(built_in(
      kit,
      {"execute_status",
       "Returns the new output of a command in the background, and whether it still runs.",
       Schema()
           .text("id", kId)
           .number("wait", "Seconds to wait for its end (default 0)")
           .number("offset", "Reads its output from this byte on (default: behind the last read)")
           .take()},
      Repeat::kYes, run_status));
  tools.push_back(built_in(kit,
                           {"execute_input", "Writes to the stdin of a command in the background.",
                            Schema()
                                .text("id", kId)
                                .text("text", "The text, with its newline", false)
                                .flag("close", "Ends its stdin afterwards (default false)")
                                .take()},
                           Repeat::kNo, run_input));
  tools.push_back(built_in(
      kit, {"execute_kill", "Ends a command in the background.", Schema().text("id", kId).take()},
      Repeat::kYes, run_kill));
}

}  // namespace

void add_command_tools(Tools& tools, const KitPtr& kit) {
  const auto features = kit->backend->features();
  const bool background = features.background && kit->options.background;
  tools.push_back(built_in(kit, execute_spec(background),
                           features.attach ? Repeat::kAttach : Repeat::kNo, run_execute,
                           stop_execute));
  if (background) add_background_tools(tools, kit);
  if (!features.code || !kit->options.run_code) return;
  tools.push_back(built_in(
      kit,
      {"run_code",
       "Runs a program that you give as text in the sandbox, and returns its output. Libraries are "
       "installed before it starts. Files that it writes to $CAY_OUTPUT_DIR are listed.",
       Schema()
           .choice("language", "The language of the program",
                   {"python", "javascript", "typescript", "bash", "java", "cpp", "go", "ruby", "r"})
           .text("code", "The whole program")
           .text("stdin", "What it reads", false)
           .texts("libraries", "Libraries to install, as the language's package manager names them")
           .number("timeout", "Seconds until it is ended (default 60)")
           .take()},
      Repeat::kNo, run_program, stop_program));
}

}  // namespace cay::agent
