#include "cli/cli.h"

#include <algorithm>
#include <csignal>
#include <exception>
#include <memory>
#include <optional>
#include <string_view>
#include <unistd.h>

#include "cli/context.h"
#include "cli/exit_code.h"
#include "cli/output.h"
#include "cli/parse.h"
#include "cli/render.h"
#include "cli/terminal.h"

namespace cay::cli {
namespace {

int execute(const Invocation& invocation) {
  std::optional<Signals> signals;
  if (invocation.shows_a_program) signals.emplace();
  try {
    Context at{sdk::Client(), signals ? &*signals : nullptr, invocation.json};
    return invocation.run(at, invocation.args);
  } catch (const ApiError& error) {
    restore_terminal();
    if (invocation.json) print(error_json(error));
    print_error(error.what());
    return exit_code_of(error);
  }
}

}  // namespace

int run(int argc, char** argv, const std::vector<Hook>& hooks) {
  std::signal(SIGPIPE, SIG_IGN);  // a write reports it, and for which descriptor
  // `cay help run`, as other programs have it: `cay run --help`.
  static char show_help[] = "--help";
  if (argc > 1 && std::string_view(argv[1]) == "help") {
    argv[1] = argc > 2 ? argv[2] : show_help;
    if (argc > 2) argv[2] = show_help;
    argc = std::min(argc, 3);
  }
  for (const auto& hook : hooks) {
    if (argc > 1 && hook.is_called(argv[1])) return hook.run(argc - 1, argv + 1);
  }
  int code = kOurFailure;
  try {
    const Parsed parsed = parse(std::vector<std::string>(argv + 1, argv + argc), hooks);
    if (!parsed.invocation) {
      write_all(STDOUT_FILENO, parsed.out);
      write_all(STDERR_FILENO, parsed.err);
      return parsed.code;
    }
    code = execute(*parsed.invocation);
  } catch (const std::exception& bug) {
    restore_terminal();
    print_error(std::string("internal error: ") + bug.what());
  }
  // A thread may be in a read of the terminal that nothing ends; all that must be closed is closed.
  ::_exit(code);
}

}  // namespace cay::cli
