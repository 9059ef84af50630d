#include "cli/cli.h"

#include <algorithm>
#include <csignal>
#include <exception>
#include <memory>
#include <optional>
#include <string_view>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/output.h"
#include "cli/parse.h"
#include "cli/render.h"
#include "cli/terminal.h"

namespace cay::cli {
namespace {

struct Dispatch {
  Context& at;
  int operator()(const RunArgs& args) const { return run_command(at, args); }
  int operator()(const ExecArgs& args) const { return exec_command(at, args); }
  int operator()(const AttachArgs& args) const { return attach_command(at, args); }
  int operator()(const LogsArgs& args) const { return logs_command(at, args); }
  int operator()(const PsArgs& args) const { return ps_command(at, args); }
  int operator()(const KillArgs& args) const { return kill_command(at, args); }
  int operator()(const CreateArgs& args) const { return create_command(at, args); }
  int operator()(const LsArgs& args) const { return ls_command(at, args); }
  int operator()(const StopArgs& args) const { return stop_command(at, args); }
  int operator()(const StartArgs& args) const { return start_command(at, args); }
  int operator()(const PauseArgs& args) const { return pause_command(at, args); }
  int operator()(const ResumeArgs& args) const { return resume_command(at, args); }
  int operator()(const RmArgs& args) const { return rm_command(at, args); }
  int operator()(const RenameArgs& args) const { return rename_command(at, args); }
  int operator()(const LabelArgs& args) const { return label_command(at, args); }
  int operator()(const SetArgs& args) const { return set_command(at, args); }
  int operator()(const StatsArgs& args) const { return stats_command(at, args); }
  int operator()(const UsageArgs& args) const { return usage_command(at, args); }
  int operator()(const ProgramsArgs& args) const { return programs_command(at, args); }
  int operator()(const NetArgs& args) const { return net_command(at, args); }
  int operator()(const SecretArgs& args) const { return secret_command(at, args); }
  int operator()(const ProxyArgs& args) const { return proxy_command(at, args); }
  int operator()(const TopArgs& args) const { return top_command(at, args); }
  int operator()(const EventsArgs& args) const { return events_command(at, args); }
  int operator()(const TunnelArgs& args) const { return tunnel_command(at, args); }
  int operator()(const UrlArgs& args) const { return url_command(at, args); }
  int operator()(const CpArgs& args) const { return cp_command(at, args); }
  int operator()(const PolicyArgs& args) const { return policy_command(at, args); }
  int operator()(const DrainArgs& args) const { return drain_command(at, args); }
  int operator()(const SnapshotsArgs& /*args*/) const { return snapshots_command(at); }
  int operator()(const DoctorArgs& args) const { return doctor_command(at, args); }
  int operator()(const VersionArgs& /*args*/) const { return version_command(at); }
  int operator()(const EnvArgs& /*args*/) const { return env_command(at); }
  int operator()(const CompletionArgs& args) const {
    print(args.script);
    return kOk;
  }
};

// Commands that show another program: signals are for it.
bool shows_a_command(const Args& args) {
  return std::holds_alternative<RunArgs>(args) || std::holds_alternative<ExecArgs>(args) ||
         std::holds_alternative<AttachArgs>(args);
}

int execute(const Invocation& invocation) {
  std::optional<Signals> signals;
  if (shows_a_command(invocation.args)) signals.emplace();
  try {
    Context at{sdk::Client(), signals ? &*signals : nullptr, invocation.json};
    return std::visit(Dispatch{at}, invocation.args);
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
