// cay shell: commands of a shell in a sandbox that lives between calls.
#include <unistd.h>

#include <iostream>
#include <iterator>
#include <memory>
#include <string>
#include <utility>

#include "cay/contexts.h"
#include "cli/command.h"
#include "cli/context.h"
#include "cli/context_events.h"
#include "cli/exit_code.h"
#include "cli/interrupt_scope.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/values.h"

namespace cay::cli {
namespace {

struct ShellArgs {
  std::string sandbox, name = "shell", command;
  sdk::CallOptions call;
  std::string user, cwd;
  bool interactive = false, restart = false;
};

std::string all_of_stdin() {
  return {std::istreambuf_iterator<char>(std::cin), std::istreambuf_iterator<char>()};
}

// Makes the shell at its first use.
void find_shell(const sdk::Contexts& shells, const ShellArgs& args) {
  if (args.restart) {
    try {
      shells.restart(args.name);
      return;
    } catch (const ApiError& error) {
      if (error.reason() != "unknown_context") throw;
    }
  }
  shells.create(
      {.id = args.name, .language = "bash", .user = args.user, .cwd = args.cwd, .env = {}});
}

int shell_command(Context& at, const ShellArgs& given) {
  ShellArgs args = given;
  if (args.command == "-") args.command = all_of_stdin();
  if (args.interactive) args.call.input = all_of_stdin();
  const sdk::Contexts shells(at.client, args.sandbox);
  find_shell(shells, args);
  sdk::Evaluation got;
  {
    const InterruptScope scope(*at.signals, shells, args.name, InterruptScope::Again::kInterrupts);
    got = at.json ? shells.run(args.name, args.command, args.call)
                  : shells.run(args.name, args.command, print_event, args.call);
  }
  if (at.json) {
    print(got.json + "\n");
  } else {
    if (got.state == "lost") print_error("the call is lost: its shell " + end_of(got));
    if (got.ended || got.state == "lost")
      print_error("the shell has ended: --restart begins a new one");
  }
  if (got.state == "timed_out") return kTimedOut;
  return got.exit_code ? static_cast<int>(*got.exit_code) : kOurFailure;
}

}  // namespace

Command shell_entry() {
  struct State {
    ShellArgs args;
    std::string timeout;
  };
  const auto state = std::make_shared<State>();
  return {
      .name = "shell",
      .help = "Run a command in a shell that keeps directory, variables and jobs",
      .examples =
          "  cay shell box 'cd /srv; export PORT=8000'\n"
          "  cay shell box 'echo $PWD $PORT'           prints /srv 8000\n"
          "  cay shell box 'python3 -m http.server $PORT & echo $!'\n"
          "  cay shell box 'jobs'\n"
          "  cay shell -n other box 'make' --timeout 5m\n"
          "  cay shell -i box 'wc -l' <data.txt        stdin for the command\n"
          "  cay shell box - <script.sh                the command from stdin\n"
          "  cay shell --restart box 'echo anew'\n\n"
          "It is one bash, which outlives the daemon and ends with the sandbox's processes. The "
          "exit code is the\ncommand's own, and 124 after --timeout. Ctrl-C interrupts the "
          "command, and the shell lives on. What a job\nof an earlier call wrote comes on "
          "stderr. cay context lists, interrupts and removes shells. For a terminal:\n"
          "cay exec -it box -- bash\n",
      .shows_a_program = true,
      .options =
          [state](Options& to) {
            ShellArgs& args = state->args;
            to.needed("SANDBOX", args.sandbox, "Id or name");
            to.needed("COMMAND", args.command, "One word: quote it. - reads it from stdin");
            to.text("-n,--name", args.name, "Of the shell (default: shell)");
            to.text("--timeout", state->timeout,
                    "Interrupt the command after so long, as 30 or 5m");
            to.flag("-i,--interactive", args.interactive, "Pass stdin on, with its end");
            to.flag("--restart", args.restart, "Begin a new shell under this name first");
            to.text("-w,--workdir", args.cwd, "Where a new shell begins");
            to.text("-u,--user", args.user, "Who a new shell runs as");
          },
      .args = [state](const Line&) -> std::any {
        ShellArgs& args = state->args;
        if (args.command == "-" && args.interactive)
          wrong("-i", "and - do not go together: stdin is the command");
        if (!state->timeout.empty())
          args.call.timeout_s = must(parse_duration(state->timeout), "--timeout");
        return args;
      },
      .run = runs(shell_command)};
}

}  // namespace cay::cli
