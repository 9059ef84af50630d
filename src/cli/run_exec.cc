#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <utility>

#include "cli/args.h"
#include "cli/command.h"
#include "cli/context.h"
#include "cli/exit_code.h"
#include "cli/image.h"
#include "cli/output.h"
#include "cli/proxy_rules.h"
#include "cli/render.h"
#include "cli/sandbox_words.h"
#include "cli/session.h"
#include "cli/terminal.h"
#include "cli/values.h"

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

// Fills in what the image decides, before there is a sandbox: a pull may take minutes, and a signal
// ends it. A command that is not given is the snapshot's own.
void use_image(Context& at, RunArgs& args) {
  if (args.image.empty() && !args.exec.argv.empty()) return;
  const std::string& name = args.image.empty() ? args.sandbox.snapshot : args.image;
  const sdk::Snapshot snapshot =
      args.image.empty() ? at.client.snapshot_store().get(name) : snapshot_of(at, name);
  args.sandbox.snapshot = snapshot.id;
  if (args.exec.argv.empty()) args.exec.argv = snapshot.config.argv();
  if (args.exec.argv.empty())
    throw ApiError(
        ErrorCode::kInvalidArgument, "no_command",
        name + " names no command of its own: write one, as `cay run " + name + " -- sh`");
}

// Makes the sandbox at once where no request is needed before: most images are here already.
std::optional<sdk::SandboxInfo> made_at_once(Context& at, const RunArgs& args) {
  if (args.exec.argv.empty()) return std::nullopt;
  sdk::CreateOptions options = with_rules(args.sandbox, args.rules);
  if (args.image.empty()) return at.client.create_info(options);
  options.snapshot = args.image;
  try {
    return at.client.create_info(options);
  } catch (const ApiError& error) {
    const std::string& reason = error.reason();
    if (reason == "snapshot_not_found" || reason == "snapshot_not_ready") return std::nullopt;
    throw;
  }
}

// run --rm: from before the sandbox is there until it is gone, no signal ends this program in
// between.
int run_and_remove(Context& at, RunArgs args) {
  const std::string being_made =
      "left while the sandbox was being made: if `cay ls` shows it, `cay rm` removes it";
  at.signals->hold(being_made);
  auto made = made_at_once(at, args);
  if (!made) {
    at.signals->release();
    use_image(at, args);
    at.signals->hold(being_made);
    made = at.client.create_info(with_rules(args.sandbox, args.rules));
  }
  const sdk::SandboxInfo& info = *made;
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

int run_command(Context& at, const RunArgs& given) {
  RunArgs args = given;
  prepare(args.exec);
  // As `docker run -w`: the directory is the sandbox's, which makes it where it is missing.
  args.sandbox.workdir = std::exchange(args.exec.command.cwd, {});
  if (args.remove) return run_and_remove(at, std::move(args));
  auto made = made_at_once(at, args);
  if (!made) {
    use_image(at, args);
    made = at.client.create_info(with_rules(args.sandbox, args.rules));
  }
  const sdk::SandboxInfo& info = *made;
  const sdk::Sandbox box = at.client.sandbox(info.id);
  const bool say_name = args.sandbox.name.empty() && !at.json && ::isatty(STDERR_FILENO) == 1;
  if (say_name)
    print_error("sandbox " + info.name + " (it stays: `cay rm " + info.name + "` removes it)");
  return exec_in(at, box, info.name, args.exec);
}

int exec_command(Context& at, const ExecArgs& given) {
  ExecArgs args = given;
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

}  // namespace

Command run_entry() {
  struct State {
    RunArgs args;
    CreateWords create;
    ExecWords exec;
  };
  const auto state = std::make_shared<State>();
  return {.name = "run",
          .help = "Make a sandbox, of an image if you like, and run a command in it",
          .examples =
              "  cay run --rm -- python3 -c 'print(2+2)'\n"
              "  cay run -it -- bash                       a shell; the sandbox stays\n"
              "  cay run python:3.12 -- python3 -V         an image, pulled where it is not here\n"
              "  cay run --rm redis:7 --                   the image's own command\n"
              "  cay run --rm --timeout 10 --memory 256MiB -- ./untrusted\n"
              "  cay run --rm --use openai -- ./agent      with a key that it never sees: see `cay "
              "secret`\n"
              "  tar c . | cay run --rm -i -- tar t\n\n"
              "One word before -- is an image or a snapshot (`cay snapshot ls`). Its own command "
              "runs if there is none behind it.\n",
          .takes_a_program = true,
          .takes_snapshot = true,
          .shows_a_program = true,
          .options =
              [state](Options& to) {
                state->create.declare(to, state->args.sandbox, state->args.image,
                                      state->args.rules);
                state->exec.declare(to, state->args.exec);
                to.text("-u,--user", state->args.exec.command.user, "Who runs it (default: root)");
                to.flag("--rm", state->args.remove, "Remove the sandbox when the command ends");
                state->exec.declare_command(to);
              },
          .args = [state](const Line& line) -> std::any {
            RunArgs& args = state->args;
            const std::string image = state->exec.take_image(line);
            if (!image.empty() && !args.image.empty())
              wrong("--image", "and '" + image + "' before -- are two images: write one");
            if (!image.empty()) args.image = image;
            state->create.fill(args.sandbox, args.image, args.rules);
            const bool has_own = !args.image.empty() || !args.sandbox.snapshot.empty();
            state->exec.fill(args.exec, line, has_own ? "" : "cay run -- python3 -c 'print(2+2)'");
            if (args.remove && args.exec.detach)
              wrong("--rm", "and -d do not go together: the sandbox would go with its command");
            return args;
          },
          .run = runs(run_command)};
}

Command exec_entry() {
  struct State {
    ExecArgs args;
    ExecWords exec;
  };
  const auto state = std::make_shared<State>();
  return {.name = "exec",
          .help = "Run a command in a sandbox",
          .examples =
              "  cay exec box -- ls -l /\n"
              "  cay exec -it box -- bash\n"
              "  cay exec -e DEBUG=1 -w /app --user user box -- python3 main.py\n"
              "  id=$(cay exec -d box -- ./server) && cay logs --follow box \"$id\"\n",
          .takes_a_program = true,
          .shows_a_program = true,
          .options =
              [state](Options& to) {
                state->exec.declare(to, state->args);
                to.text("-u,--user", state->args.command.user,
                        "Who runs it: name, uid, name:group or uid:gid");
                to.needed("SANDBOX", state->args.sandbox, "Id or name");
                state->exec.declare_command(to);
              },
          .args = [state](const Line& line) -> std::any {
            state->exec.fill(state->args, line, "cay exec SANDBOX -- ls -l /");
            return state->args;
          },
          .run = runs(exec_command)};
}

Command attach_entry() {
  const auto args = std::make_shared<AttachArgs>();
  return {
      .name = "attach",
      .help = "Join a running command: its output, and with -i its input",
      .examples =
          "  cay attach box ID\n  cay attach -i box ID\n\nCtrl-C leaves; the command runs on. Its "
          "exit code becomes this one's.\n",
      .shows_a_program = true,
      .options =
          [args](Options& to) {
            to.flag("-i,--interactive", args->interactive,
                    "Pass stdin on (default for a command on a terminal)");
            to.number("--since-offset", args->since, "Begin at this byte of stdout");
            to.needed("SANDBOX", args->sandbox, "Id or name");
            to.needed("COMMAND", args->command, "Command id");
          },
      .args = [args](const Line&) -> std::any { return *args; },
      .run = runs(attach_command)};
}

Command ps_entry() {
  const auto args = std::make_shared<PsArgs>();
  return {.name = "ps",
          .help = "List the commands of a sandbox",
          .examples = "  cay ps box\n",
          .options = [args](Options& to) { to.needed("SANDBOX", args->sandbox, "Id or name"); },
          .args = [args](const Line&) -> std::any { return *args; },
          .run = runs(ps_command)};
}

Command kill_entry() {
  struct State {
    KillArgs args;
    std::string signal;
  };
  const auto state = std::make_shared<State>();
  return {.name = "kill",
          .help = "Kill a command with its whole process tree, or send a signal",
          .examples = "  cay kill box ID\n  cay kill --signal TERM box ID\n",
          .options =
              [state](Options& to) {
                to.text("-s,--signal", state->signal,
                        "To the command's process group (default: KILL, to the whole tree)");
                to.needed("SANDBOX", state->args.sandbox, "Id or name");
                to.needed("COMMAND", state->args.command, "Command id");
              },
          .args = [state](const Line&) -> std::any {
            if (!state->signal.empty())
              state->args.signal = must(parse_signal(state->signal), "--signal");
            return state->args;
          },
          .run = runs(kill_command)};
}

}  // namespace cay::cli
