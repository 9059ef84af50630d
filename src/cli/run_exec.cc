#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/output.h"
#include "cli/proxy_rules.h"
#include "cli/render.h"
#include "cli/session.h"
#include "cli/terminal.h"

namespace cay::cli {
namespace {

// Detached commands keep their output as long as their sandbox: somebody comes back for it.
constexpr double kWithTheSandbox = -1;
// An attached command whose cay was killed has nobody left: it must not keep its sandbox awake. Far
// above the time for which a broken connection is tried again.
constexpr double kOrphaned = 300;

void prepare(ExecArgs& args) {
  args.command.close_stdin = !args.interactive;
  if (args.detach) {
    args.command.ttl_s = kWithTheSandbox;
  } else {
    args.command.idle_timeout_s = kOrphaned;
  }
  if (!args.terminal) return;
  args.command.terminal = terminal_size(STDIN_FILENO).value_or(sdk::TerminalSize{});
  const char* term = std::getenv("TERM");
  args.command.env.try_emplace("TERM", term == nullptr || *term == 0 ? "xterm-256color" : term);
}

enum class Then { kStays, kRemoved };

int exec_in(Context& at, const sdk::Sandbox& box, const std::string& name, const ExecArgs& args,
            Then then = Then::kStays, std::string left_behind = {}) {
  if (args.detach) {
    const auto started = box.start_detached(args.argv, args.command);
    print(at.json ? json_object(
                        {{"command_id", started.id}, {"sandbox", name}, {"state", started.state}})
                  : started.id + "\n");
    return kOk;
  }
  const SessionOptions options{.interactive = args.interactive,
                               .terminal = args.terminal,
                               .json = at.json,
                               .owner = true,
                               .left_behind = std::move(left_behind),
                               .removed = then == Then::kRemoved};
  return run_session(box.spawn(args.argv, args.command), box, name, options, *at.signals);
}

// Removes the sandbox on every way out of run --rm.
class Removal {
 public:
  explicit Removal(const sdk::Sandbox* box) : box_(box) {}
  ~Removal() {
    try {
      box_->remove();
    } catch (const ApiError& error) {
      print_error("sandbox " + box_->ref() + " could not be removed: " + error.what());
    }
  }
  Removal(const Removal&) = delete;

 private:
  const sdk::Sandbox* box_;
};

// run --rm: from before the sandbox is there until it is gone, no signal ends this program in
// between.
int run_and_remove(Context& at, const RunArgs& args) {
  at.signals->hold(
      "left while the sandbox was being made: if `cay ls` shows it, `cay rm` removes it");
  const auto info = at.client.create_info(with_rules(args.sandbox, args.rules));
  const sdk::Sandbox box = at.client.sandbox(info.id);
  const std::string left_behind = "left; the sandbox stays: `cay rm " + info.name + "` removes it";
  at.signals->hold(left_behind);
  int code = kOk;
  {
    const Removal removal(&box);
    if (!at.signals->held())
      code = exec_in(at, box, info.name, args.exec, Then::kRemoved, left_behind);
  }
  if (const auto signal = at.signals->held()) end_by_signal(*signal);
  return code;
}

}  // namespace

int run_command(Context& at, RunArgs args) {
  prepare(args.exec);
  // As `docker run -w`: the directory is the sandbox's, which makes it where it is missing.
  args.sandbox.workdir = std::exchange(args.exec.command.cwd, {});
  if (args.remove) return run_and_remove(at, args);
  const auto info = at.client.create_info(with_rules(args.sandbox, args.rules));
  const sdk::Sandbox box = at.client.sandbox(info.id);
  const bool say_name = args.sandbox.name.empty() && !at.json && ::isatty(STDERR_FILENO) == 1;
  if (say_name)
    print_error("sandbox " + info.name + " (it stays: `cay rm " + info.name + "` removes it)");
  return exec_in(at, box, info.name, args.exec);
}

int exec_command(Context& at, ExecArgs args) {
  prepare(args);
  return exec_in(at, at.client.sandbox(args.sandbox), args.sandbox, args);
}

int attach_command(Context& at, const AttachArgs& args) {
  const sdk::Sandbox box = at.client.sandbox(args.sandbox);
  auto command = box.attach(args.command, {.out = args.since, .err = 0});
  const bool terminal = command.started().pty && terminal_size(STDIN_FILENO).has_value();
  const SessionOptions options{.interactive = args.interactive || terminal,
                               .terminal = terminal,
                               .json = at.json,
                               .owner = false,
                               .left_behind = {},
                               .removed = false};
  if (terminal) command.resize(*terminal_size(STDIN_FILENO));
  return run_session(std::move(command), box, args.sandbox, options, *at.signals);
}

int ps_command(Context& at, const PsArgs& args) {
  const auto commands = at.client.sandbox(args.sandbox).commands();
  if (!at.json) {
    print(command_table(commands));
    return kOk;
  }
  std::vector<std::string> items;
  for (const auto& command : commands) items.push_back(command.json);
  print(json_array(items));
  return kOk;
}

int kill_command(Context& at, const KillArgs& args) {
  at.client.sandbox(args.sandbox).kill(args.command, args.signal);
  if (at.json) print(json_object({{"command_id", args.command}, {"sandbox", args.sandbox}}));
  return kOk;
}

}  // namespace cay::cli
