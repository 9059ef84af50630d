#include "api/daytona/toolbox/run.h"

#include <utility>

#include "api/common/answer_size.h"
#include "api/common/stdin_write.h"
#include "api/daytona/toolbox/ends.h"
#include "api/daytona/toolbox/errors.h"
#include "core/ports/runtime.h"
#include "core/verbs/commands.h"

namespace cay::api::daytona {
namespace {

// $1: the line. Without it the shell reads the line on its stdin.
constexpr const char* kShell =
    "exec 2>&1\n"
    "for s in /bin/zsh /usr/bin/zsh /bin/bash /usr/bin/bash /bin/sh; do\n"
    "  [ -x \"$s\" ] || continue\n"
    "  if [ $# -gt 0 ]; then exec \"$s\" -c \"$1\"; else exec \"$s\"; fi\n"
    "done\n"
    "echo 'no shell' >&2; exit 127";

// Room for the rest of the arguments and the environment.
constexpr std::size_t kLongestArgument = 100 * 1024;

Error too_much_output(int exit_code) {
  return vendor_error(kUnprocessable,
                      "the program ran to its end with exit code " + std::to_string(exit_code) +
                          ", but its output is more than the 64 MiB of JSON that one answer "
                          "holds: write it to a file and download that");
}

}  // namespace

Program shell_program(std::string line) {
  Program out{.argv = {"/bin/sh", "-c", kShell, "sh"}};
  if (line.size() <= kLongestArgument) {
    out.argv.push_back(std::move(line));
  } else {
    out.input = std::move(line);
  }
  return out;
}

Task<RanProgram> run_program(core::Cay& cay, Box box, Program program, AnswerPart part) {
  CommandSpec spec;
  spec.argv = std::move(program.argv);
  spec.run.env = std::move(program.env);
  spec.run.workdir = program.cwd.empty() ? box.workdir : program.cwd;
  spec.timeout_ms = program.timeout_ms;
  spec.close_stdin = !program.input.has_value();
  spec.kill_on_disconnect = !program.keeps_working;
  CAY_CO_TRY(auto reader, co_await cay.commands().run(box.who, box.ref, std::move(spec)));
  const CommandId id = reader->command().id;
  if (program.input) {
    auto written =
        co_await write_whole_stdin(cay, box.who, box.ref, id, *std::move(program.input), true);
    if (written) {
      written = co_await end_stdin(cay, box.who, box.ref, id);
    }
    // A program may end before it has read all.
    if (!written && !stdin_is_over(written.error())) {
      auto killed =
          co_await kill_for_lost_input(cay, box.who, box.ref, id, std::move(written).error());
      co_return std::move(killed).error();
    }
  }
  CAY_CO_TRY(Collected got, co_await collect(std::move(reader), kMostAnswer, part));
  CAY_CO_TRY(const int exit_code, exit_code_of(got.command.end));
  const std::uint64_t needs = text_size(got.out) + text_size(got.err);
  if (got.truncated || needs > kMostAnswer || !part->need(needs))
    co_return too_much_output(exit_code);
  co_return RanProgram{exit_code, std::move(got.out), std::move(got.err)};
}

}  // namespace cay::api::daytona
