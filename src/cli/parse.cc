#include "cli/parse.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <functional>
#include <list>
#include <memory>
#include <sstream>

#include "cli/completion.h"
#include "cli/exit_code.h"
#include "cli/parse_rules.h"
#include "cli/values.h"

namespace cay::cli {
namespace {

// Options that hold text until parsing is over, and are then turned into values.
struct Texts {
  std::vector<std::string> labels, env, command, ports, tmpfs;
  std::string cpus, memory, disk, max_size, pids, ttl, gone, lifetime, timeout, since, keep, signal,
      stream, shell;
  bool keep_awake = false, only_out = false, only_err = false;
};

template <class T>
T must(Result<T> result, std::string_view option) {
  if (!result) throw CLI::ValidationError(std::string(option), result.error().message);
  return *std::move(result);
}

// Up, where only whole seconds are taken: a part of one must not become 0, which is never.
std::int64_t must_seconds(const std::string& text, std::string_view option) {
  return static_cast<std::int64_t>(std::ceil(must(parse_duration(text), option)));
}

// 0 would be sent as "the default".
std::uint64_t must_some(const std::string& text, std::string_view option) {
  const std::uint64_t bytes = must(parse_size(text), option);
  if (bytes == 0)
    throw CLI::ValidationError(std::string(option),
                               "must be more than 0: leave it out for the default");
  return bytes;
}

class Parser {
 public:
  explicit Parser(const std::vector<Hook>& hooks) {
    app_.name("cay");
    app_.description("Isolated Linux computers for AI agents, on your machine.");
    app_.require_subcommand(0, 1);
    app_.set_help_flag("-h,--help", "Show this and end");
    app_.footer(
        "`cay COMMAND --help` shows a command's options, with examples.\n"
        "The daemon is found by CAY_URL and CAY_API_KEY (default: loopback and the local key file).");
    for (const auto& hook : hooks) {
      auto* command = app_.add_subcommand(hook.name, hook.help)->group("Daemon");
      if (!hook.alias.empty()) command->alias(hook.alias);
    }
    add_run();
    add_exec();
    add_sandbox_commands();
    add_command_commands();
    add_cp();
    add_tunnel();
    add_url();
    add_watching();
    add_host_commands();
  }

  Parsed parse(std::vector<std::string> args) {
    split_command(args);
    if (args == std::vector<std::string>{"--version"}) args = {"version"};
    if (args.empty()) return {std::nullopt, kOurFailure, {}, app_.help()};
    try {
      std::ranges::reverse(args);  // CLI11 takes them from the back
      app_.parse(std::move(args));
      if (chosen_.empty()) return {std::nullopt, kOurFailure, {}, app_.help()};
      return finish();
    } catch (const CLI::ParseError& thrown) {
      return explain(thrown);
    }
  }

 private:
  // What follows "--" is the command, whatever it looks like.
  void split_command(std::vector<std::string>& args) {
    const auto dashes = std::ranges::find(args, "--");
    if (dashes == args.end()) return;
    dashes_ = true;
    after_.assign(dashes + 1, args.end());
    args.erase(dashes, args.end());
  }

  template <class T>
  CLI::App* add(const std::string& name, const std::string& help, const std::string& examples,
                std::function<T(Texts&)> make, const char* group = "Commands") {
    auto* sub = app_.add_subcommand(name, help);
    sub->group(group);
    sub->set_help_flag("-h,--help", "Show this and end");
    sub->footer("Examples:\n" + examples);
    sub->add_flag("--json", json_, "Answer with JSON on stdout");
    finishers_[name] = [this, make = std::move(make)]() -> Args { return make(texts_); };
    sub->callback([this, name] { chosen_ = name; });
    return sub;
  }

  template <class T>
  void add(const CommandLine<T>& line) {
    line.options(*add<T>(line.name, line.help, line.examples,
                         [make = line.make](Texts&) { return make(); }));
  }

  void create_options(CLI::App* sub, sdk::CreateOptions& to, RuleArgs& rules) {
    sub->add_option("--name", to.name, "Name it (default: one is made up)")
        ->check([](const std::string& text) {
          return text.empty()
                     ? std::string("must not be empty: leave it out, and a name is made up")
                     : std::string();
        });
    sub->add_option("--snapshot", to.snapshot, "What to boot from (default: default)");
    sub->add_option("--label", texts_.labels, "KEY=VALUE; repeatable")
        ->take_all()
        ->allow_extra_args(false);
    sub->add_option("--cpus", texts_.cpus, "CPUs, as 2 or 0.5");
    sub->add_option("--memory", texts_.memory, "Memory, as 512MiB or 2GiB");
    sub->add_option("--disk", texts_.disk, "Writable disk, as 8GiB");
    sub->add_option("--pids", texts_.pids, "Processes and threads, as 200");
    sub->add_option(
           "--policy", to.policy,
           "What it may reach: off (nothing), packages (registries, archives, Git hosts), open, another policy (`cay policy ls`), or rules as 'pip,api.example.com' (default: the daemon's)")
        ->check(no_empty_policy);
    sub->add_flag("--keep-awake", texts_.keep_awake,
                  "What runs in it is use, though nobody reads its output");
    sub->add_flag("--record-programs", to.record_programs,
                  "Keep a record of every process: see `cay programs`");
    sub->add_option(
           "--profile", to.profile,
           "How it is held: strict (nothing gains privilege, fewer system calls), default, or nested (containers inside, where the operator allows it)")
        ->check([](const std::string& text) {
          return text.empty()
                     ? std::string("must not be empty: leave it out for the daemon's default")
                     : std::string();
        });
    sub->add_option("--tmpfs", texts_.tmpfs,
                    "A file system in memory at PATH, as /tmp or /tmp:size=1GiB (default size: "
                    "half of the memory); repeatable")
        ->take_all()
        ->allow_extra_args(false);
    rule_options(*sub, rules);
    timer_options(sub);
  }

  void timer_options(CLI::App* sub) {
    sub->add_option("--ttl", texts_.ttl, "Stop it after so long without use, as 10m; or never");
    sub->add_option("--delete-after-stop", texts_.gone,
                    "Remove it so long after it stopped, as 7d; or never");
    sub->add_option("--lifetime", texts_.lifetime,
                    "Remove it so long after its creation, as 8h; or never");
  }

  // Of a creation or a change. False: none was given.
  template <class T>
  bool finish_timers(T& to) {
    if (!texts_.ttl.empty()) to.idle_ttl_s = must(parse_timer(texts_.ttl), "--ttl");
    if (!texts_.gone.empty())
      to.delete_after_stop_s = must(parse_timer(texts_.gone), "--delete-after-stop");
    if (!texts_.lifetime.empty()) to.lifetime_s = must(parse_timer(texts_.lifetime), "--lifetime");
    return to.idle_ttl_s || to.delete_after_stop_s || to.lifetime_s;
  }

  void finish_create(sdk::CreateOptions& to, const RuleArgs& rules) {
    check(rules);
    to.labels = must(parse_pairs(texts_.labels, "label"), "--label");
    if (!texts_.cpus.empty()) to.limits.cpu_millicores = must(parse_cpus(texts_.cpus), "--cpus");
    if (!texts_.memory.empty()) to.limits.memory_bytes = must_some(texts_.memory, "--memory");
    if (!texts_.disk.empty()) to.limits.disk_bytes = must_some(texts_.disk, "--disk");
    if (!texts_.pids.empty()) to.limits.pids = must(parse_count(texts_.pids), "--pids");
    for (const std::string& text : texts_.tmpfs) {
      const auto [path, bytes] = must(parse_tmpfs(text), "--tmpfs");
      if (!to.tmpfs.emplace(path, bytes).second)
        throw CLI::ValidationError("--tmpfs", path + " is named twice");
    }
    finish_timers(to);
    if (texts_.keep_awake) to.commands_keep_awake = true;
  }

  void exec_options(CLI::App* sub, ExecArgs& to) {
    sub->add_flag("-i,--interactive", to.interactive, "Pass stdin on, with its end");
    sub->add_flag("-t,--tty", to.terminal, "Give it a terminal");
    sub->add_flag("-d,--detach", to.detach, "Print the command's id and leave it running");
    sub->add_option("-e,--env", texts_.env, "KEY=VALUE, or KEY to pass yours on; repeatable")
        ->take_all()
        ->allow_extra_args(false);
    sub->add_option("-w,--workdir", to.command.cwd, "Directory to run in");
    sub->add_option("--timeout", texts_.timeout,
                    "Kill it after so long, as 30 or 5m (default: never); exit code 124");
    sub->add_option(
        "--keep", texts_.keep,
        "Keep so much of each output stream, as 10MiB: its first and last halves (default: 4GiB)");
  }

  void finish_exec(ExecArgs& to) {
    to.command.env = must(parse_env(texts_.env), "--env");
    to.command.timeout_s =
        texts_.timeout.empty() ? 0 : must(parse_duration(texts_.timeout), "--timeout");
    if (!texts_.keep.empty()) to.command.output_limit_bytes = must_some(texts_.keep, "--keep");
    if (dashes_ && !texts_.command.empty()) {
      throw CLI::ValidationError("COMMAND", "put the whole command behind --");
    }
    to.argv = dashes_ ? after_ : texts_.command;
    if (to.argv.empty())
      throw CLI::ValidationError(
          "COMMAND",
          std::string("is missing, as in: cay ") +
              (chosen_ == "exec" ? "exec SANDBOX -- ls -l /" : "run -- python3 -c 'print(2+2)'"));
    if (json_ && to.terminal)
      throw CLI::ValidationError("--json", "and -t do not go together: a terminal has one stream");
    if (to.detach && (to.interactive || to.terminal))
      throw CLI::ValidationError("-d", "goes with neither -i nor -t");
  }

  void add_run() {
    auto args = std::make_shared<RunArgs>();
    auto* sub = add<RunArgs>(
        "run", "Make a sandbox and run a command in it",
        "  cay run --rm -- python3 -c 'print(2+2)'\n"
        "  cay run -it -- bash                       a shell; the sandbox stays\n"
        "  cay run --rm --timeout 10 --memory 256MiB -- ./untrusted\n"
        "  cay run --rm --use openai -- ./agent      with a key that it never sees: see `cay secret`\n"
        "  tar c . | cay run --rm -i -- tar t\n",
        [this, args](Texts&) {
          finish_create(args->sandbox, args->rules);
          finish_exec(args->exec);
          if (args->remove && args->exec.detach)
            throw CLI::ValidationError(
                "--rm", "and -d do not go together: the sandbox would go with its command");
          return *args;
        });
    create_options(sub, args->sandbox, args->rules);
    exec_options(sub, args->exec);
    sub->add_option("-u,--user", args->exec.command.user, "Who runs it (default: root)");
    sub->add_flag("--rm", args->remove, "Remove the sandbox when the command ends");
    sub->add_option("COMMAND", texts_.command, "Program and arguments, behind --");
  }

  void add_exec() {
    auto args = std::make_shared<ExecArgs>();
    auto* sub =
        add<ExecArgs>("exec", "Run a command in a sandbox",
                      "  cay exec box -- ls -l /\n"
                      "  cay exec -it box -- bash\n"
                      "  cay exec -e DEBUG=1 -w /app --user user box -- python3 main.py\n"
                      "  id=$(cay exec -d box -- ./server) && cay logs --follow box \"$id\"\n",
                      [this, args](Texts&) {
                        finish_exec(*args);
                        return *args;
                      });
    exec_options(sub, *args);
    sub->add_option("-u,--user", args->command.user,
                    "Who runs it: name, uid, name:group or uid:gid");
    sub->add_option("SANDBOX", args->sandbox, "Id or name")->required();
    sub->add_option("COMMAND", texts_.command, "Program and arguments, behind --");
  }

  template <class T>
  void add_refs(const std::string& name, const std::string& help, const std::string& examples) {
    auto args = std::make_shared<T>();
    auto* sub = add<T>(name, help, examples, [args](Texts&) {
      bool labelled = false;
      if constexpr (std::is_same_v<T, RmArgs>) {
        labelled = !args->labels.empty();
        if (labelled && args->all)
          throw CLI::ValidationError("--all", "and --label do not go together");
      }
      if (args->refs.empty() && !args->all && !labelled)
        throw CLI::RequiredError("SANDBOX (or --all)");
      if (!args->refs.empty() && args->all)
        throw CLI::ValidationError("--all", "and names do not go together");
      return *args;
    });
    if constexpr (std::is_same_v<T, RmArgs>) {
      sub->add_option("--label", args->labels,
                      "Those with KEY or KEY=VALUE; repeatable, all must match")
          ->take_all()
          ->allow_extra_args(false);
    }
    sub->add_option("SANDBOX", args->refs, "Ids or names");
    sub->add_flag("-a,--all", args->all, "All of them");
    if (name == "rm") sub->add_flag("-f,--force", args->force, "What is not there is no error");
  }

  void add_sandbox_commands() {
    auto create = std::make_shared<CreateArgs>();
    auto* sub =
        add<CreateArgs>("create", "Make a sandbox",
                        "  cay create --name box --memory 1GiB --label project=demo\n"
                        "  cay create --cpus 0.5 --ttl never         does not stop by itself\n"
                        "  cay create --ttl 1h --delete-after-stop 2d\n",
                        [this, create](Texts& texts) {
                          finish_create(create->sandbox, create->rules);
                          create->sandbox.env = must(parse_env(texts.env), "--env");
                          return *create;
                        });
    create_options(sub, create->sandbox, create->rules);
    sub->add_option("-u,--user", create->sandbox.user,
                    "Who runs commands that name nobody (default: root)");
    sub->add_option("-w,--workdir", create->sandbox.workdir,
                    "Where commands run that name no directory");
    sub->add_option("-e,--env", texts_.env, "KEY=VALUE for every command; repeatable")
        ->take_all()
        ->allow_extra_args(false);

    auto ls = std::make_shared<LsArgs>();
    sub = add<LsArgs>(
        "ls", "List sandboxes",
        "  cay ls\n  cay ls --label project=demo --state ready\n  cay ls -q | xargs -r cay rm\n",
        [ls](Texts& texts) {
          ls->filter.labels = texts.labels;
          return *ls;
        });
    sub->add_option("--label", texts_.labels, "KEY or KEY=VALUE; repeatable, all must match")
        ->take_all()
        ->allow_extra_args(false);
    sub->add_option("--state", ls->filter.state,
                    "provisioning, ready, stopped, failed, deleting or paused");
    sub->add_option("--name", ls->filter.name_contains, "Part of the name");
    sub->add_flag("-q,--quiet", ls->quiet, "Names only");

    add_refs<StopArgs>("stop", "Stop sandboxes; their disks stay",
                       "  cay stop box\n  cay stop --all\n");
    add_refs<StartArgs>("start", "Start stopped sandboxes", "  cay start box\n");
    add_refs<PauseArgs>("pause", "Hold sandboxes still, with their memory: no CPU, nothing ends",
                        "  cay pause box\n");
    add_refs<ResumeArgs>("resume", "Let paused sandboxes go on",
                         "  cay resume box\n  cay resume --all\n");
    add_refs<RmArgs>("rm", "Remove sandboxes and all they hold",
                     "  cay rm box other\n  cay rm --label project=demo\n  cay rm --all\n");

    auto rename = std::make_shared<RenameArgs>();
    sub = add<RenameArgs>("rename", "Rename a sandbox", "  cay rename box builder\n",
                          [rename](Texts&) { return *rename; });
    sub->add_option("SANDBOX", rename->sandbox, "Id or name")->required();
    sub->add_option("NAME", rename->name, "The new name")->required();

    auto label = std::make_shared<LabelArgs>();
    sub = add<LabelArgs>("label", "Set and remove labels",
                         "  cay label box team=a stage=test\n  cay label box stage-\n",
                         [label](Texts&) { return *label; });
    sub->add_option("SANDBOX", label->sandbox, "Id or name")->required();
    sub->add_option("LABEL", label->changes, "KEY=VALUE sets, KEY- removes")->required();

    auto set = std::make_shared<SetArgs>();
    sub = add<SetArgs>("set", "Change when a sandbox stops and goes by itself",
                       "  cay set box --ttl 2h\n"
                       "  cay set box --ttl never --delete-after-stop 7d --lifetime never\n\n"
                       "What is not named stays. `cay ls --json` shows the timers.\n",
                       [this, set](Texts&) {
                         if (!finish_timers(set->timers))
                           throw CLI::RequiredError("--ttl, --delete-after-stop or --lifetime");
                         return *set;
                       });
    sub->add_option("SANDBOX", set->sandbox, "Id or name")->required();
    timer_options(sub);

    auto stats = std::make_shared<StatsArgs>();
    sub = add<StatsArgs>("stats", "What sandboxes use now", "  cay stats\n  cay stats box --json\n",
                         [stats](Texts&) { return *stats; });
    sub->add_option("SANDBOX", stats->refs, "Ids or names (default: all that are ready)");
  }

  void add_command_commands() {
    auto ps = std::make_shared<PsArgs>();
    auto* sub = add<PsArgs>("ps", "List the commands of a sandbox", "  cay ps box\n",
                            [ps](Texts&) { return *ps; });
    sub->add_option("SANDBOX", ps->sandbox, "Id or name")->required();

    auto logs = std::make_shared<LogsArgs>();
    sub = add<LogsArgs>(
        "logs", "Print a command's output, exact to the byte",
        "  cay logs box ID\n  cay logs --follow box ID\n  cay logs --stderr --offset 4096 box ID\n"
        "  cay logs --since 10m box                  all commands that ran in the last ten minutes\n\n"
        "Of a stopped sandbox too: nothing is woken. When a lost command ended is not known: for --since it ran until its\n"
        "sandbox's stop, or until now where the sandbox runs again.\n",
        [logs](Texts& texts) {
          const bool one = !logs->command.empty();
          if (!one && logs->follow)
            throw CLI::ValidationError("--follow",
                                       "needs the COMMAND to follow: `cay ps` lists them");
          if (!one && logs->offset > 0)
            throw CLI::ValidationError("--offset", "needs the COMMAND whose bytes it counts");
          if (one && !texts.since.empty())
            throw CLI::ValidationError(
                "--since", "chooses among commands: leave COMMAND out, or give --offset");
          if (!texts.since.empty()) logs->since_s = must(parse_duration(texts.since), "--since");
          if (texts.only_out && texts.only_err)
            throw CLI::ValidationError("--stdout",
                                       "and --stderr do not go together: both are the default");
          if (texts.only_out) logs->stream = "stdout";
          if (texts.only_err) logs->stream = "stderr";
          return *logs;
        });
    sub->add_flag("-f,--follow", logs->follow, "Go on until the command ends");
    sub->add_option("--stream", logs->stream, "stdout or stderr (default: both)")
        ->check(CLI::IsMember({"stdout", "stderr"}));
    sub->add_flag("--stdout", texts_.only_out, "Only stdout");
    sub->add_flag("--stderr", texts_.only_err, "Only stderr; it goes to stdout then");
    sub->add_option("--offset,--since-offset", logs->offset, "Begin at this byte of the stream");
    sub->add_option("--since", texts_.since,
                    "Only commands that ran in the last so long, as 10m, or may have (lost ones)");
    sub->add_option("SANDBOX", logs->sandbox, "Id or name")->required();
    sub->add_option("COMMAND", logs->command,
                    "Command id, from exec -d or ps (default: all that are kept)");

    auto attach = std::make_shared<AttachArgs>();
    sub = add<AttachArgs>(
        "attach", "Join a running command: its output, and with -i its input",
        "  cay attach box ID\n  cay attach -i box ID\n\nCtrl-C leaves; the command runs on. Its exit code becomes this one's.\n",
        [attach](Texts&) { return *attach; });
    sub->add_flag("-i,--interactive", attach->interactive,
                  "Pass stdin on (default for a command on a terminal)");
    sub->add_option("--since-offset", attach->since, "Begin at this byte of stdout");
    sub->add_option("SANDBOX", attach->sandbox, "Id or name")->required();
    sub->add_option("COMMAND", attach->command, "Command id")->required();

    auto kill = std::make_shared<KillArgs>();
    sub =
        add<KillArgs>("kill", "Kill a command with its whole process tree, or send a signal",
                      "  cay kill box ID\n  cay kill --signal TERM box ID\n", [kill](Texts& texts) {
                        if (!texts.signal.empty())
                          kill->signal = must(parse_signal(texts.signal), "--signal");
                        return *kill;
                      });
    sub->add_option("-s,--signal", texts_.signal,
                    "To the command's process group (default: KILL, to the whole tree)");
    sub->add_option("SANDBOX", kill->sandbox, "Id or name")->required();
    sub->add_option("COMMAND", kill->command, "Command id")->required();
  }

  void add_cp() {
    auto cp = std::make_shared<CpArgs>();
    auto* sub = add<CpArgs>(
        "cp", "Copy files and directories into and out of a sandbox",
        "  cay cp main.py box:/app/\n"
        "  cay cp project box:/src                   a directory, with what is in it\n"
        "  cay cp box:/app/out ./out\n"
        "  git archive HEAD | cay cp - box:/tmp/src.tar\n"
        "  cay cp box:/etc/os-release -\n\n"
        "As with cp -r: into TO if that is a directory, else as TO. `FROM/.` is the contents. From a sandbox nothing\n"
        "is written outside TO; links that lead out of it are left out unless --keep-links. A file is there when it is\n"
        "whole; zeros of it take no disk.\n",
        [cp](Texts& texts) {
          if (!texts.max_size.empty()) cp->max_bytes = must_some(texts.max_size, "--max-size");
          return *cp;
        });
    sub->add_option("FROM", cp->from, "Local path, '-' for stdin, or SANDBOX:/path")->required();
    sub->add_option("TO", cp->to, "Local path, '-' for stdout, or SANDBOX:/path")->required();
    sub->add_option("-u,--user", cp->user, "Who reads or writes inside (default: root)");
    sub->add_flag_function(
        "-r,-R,--recursive", [](std::int64_t) {},
        "As cp(1) has it; directories are copied whole without it, too");
    sub->add_option("--max-size", texts_.max_size,
                    "Refuse to copy more than this out of a sandbox, holes counted (default: 64G)");
    sub->add_flag("--keep-links", cp->keep_links, "Make links that lead out of the tree, too");
  }

  void add_tunnel() {
    auto args = std::make_shared<TunnelArgs>();
    auto* sub = add<TunnelArgs>(
        "tunnel", "Reach TCP services inside a sandbox by ports of this machine",
        "  cay tunnel box 5432                       then: psql -h 127.0.0.1\n"
        "  cay tunnel box 15432:5432 6379            several; 15432 here is 5432 inside\n"
        "  cay tunnel box 0:8080                     any free port here; it is printed\n\n"
        "Runs until it is ended (Ctrl-C). A connection wakes a stopped sandbox and keeps it awake.\n",
        [args](Texts& texts) {
          for (const auto& text : texts.ports)
            args->ports.push_back(must(parse_ports(text), "PORTS"));
          return *args;
        });
    sub->add_option("SANDBOX", args->sandbox, "Name or id")->required();
    sub->add_option("PORTS", texts_.ports, "[LOCAL:]REMOTE; repeatable")->required();
    sub->add_option("--address", args->address,
                    "Address of this machine to listen on (default: 127.0.0.1); others let "
                    "other machines in, without a key");
  }

  void add_url() {
    auto args = std::make_shared<UrlArgs>();
    auto* sub = add<UrlArgs>(
        "url", "A link to a web service or a file inside a sandbox, for whoever has it",
        "  cay url box 8080                          prints where a browser begins; good for an hour\n"
        "  cay url box 8080 --expires 1d --json      with the token that programs send\n"
        "  cay url box --file /tmp/report.pdf        a download; good for a day\n"
        "  cay url box                               the links there are\n"
        "  cay url box 8080 --withdraw               all of that port; cuts what is open\n"
        "  cay url box --withdraw --id ID            one; without --id and port: all\n\n"
        "A request through a link wakes a stopped sandbox and is use of it.\n",
        [args](Texts& texts) {
          const bool file = !args->file.empty();
          if (!texts.lifetime.empty())
            args->expires_s =
                file && texts.lifetime == "never" ? 0 : must_seconds(texts.lifetime, "--expires");
          if (file && args->port != 0)
            throw CLI::ValidationError("--file", "and a port do not go together");
          if (args->withdraw && (file || args->expires_s))
            throw CLI::ValidationError("--withdraw", "takes a port or --id alone");
          if (!args->withdraw && !args->link.empty())
            throw CLI::ValidationError("--id", "is for --withdraw");
          if (args->port != 0 && !args->link.empty())
            throw CLI::ValidationError("--id", "and a port do not go together");
          if (!file && (args->shown || !args->content_type.empty() || !args->user.empty())) {
            throw CLI::ValidationError("--inline, --type and --user", "go with --file");
          }
          if (!file && args->port == 0 && args->expires_s)
            throw CLI::ValidationError("--expires", "needs a port or --file");
          return *args;
        });
    sub->add_option("SANDBOX", args->sandbox, "Name or id")->required();
    sub->add_option("PORT", args->port, "Where the service listens inside")
        ->check(CLI::Range(1, 65535));
    sub->add_option("--file", args->file, "A file inside, instead of a service");
    sub->add_option(
        "--expires", texts_.lifetime,
        "Good for so long, as 10m or 7d (default: 1h; files: 1d, and never: until withdrawn)");
    sub->add_flag("--withdraw", args->withdraw, "Take links back");
    sub->add_option("--id", args->link, "With --withdraw: this link");
    sub->add_flag("--inline", args->shown, "With --file: browsers show it, without scripts");
    sub->add_option("--type", args->content_type, "With --file: its content type");
    sub->add_option("-u,--user", args->user, "With --file: who reads it inside (default: root)");
  }

  void add_watching() {
    auto usage = std::make_shared<UsageArgs>();
    auto* sub = add<UsageArgs>(
        "usage", "What sandboxes used: CPU, memory over time, running time, bytes",
        "  cay usage                                 all, deleted ones too\n"
        "  cay usage box other\n"
        "  cay usage --label team=a --by project\n",
        [usage](Texts&) {
          if (!usage->refs.empty() && !(usage->labels.empty() && usage->group_by.empty())) {
            throw CLI::ValidationError("SANDBOX", "goes with neither --label nor --by");
          }
          return *usage;
        },
        "Host");
    sub->add_option("SANDBOX", usage->refs, "Ids or names (default: sums)");
    sub->add_option("--label", usage->labels,
                    "Only those with KEY or KEY=VALUE; repeatable, all must match")
        ->take_all()
        ->allow_extra_args(false);
    sub->add_option("--by", usage->group_by, "A sum for each value of this label");

    auto programs = std::make_shared<ProgramsArgs>();
    sub = add<ProgramsArgs>(
        "programs", "What ran in a sandbox, as the kernel saw it: start and end of every process",
        "  cay run --name box --record-programs -- make\n  cay programs box\n"
        "  cay programs --follow --json box          one JSON object a line\n\n"
        "Of a stopped sandbox too: nothing is woken. The sandbox must have been created with --record-programs.\n",
        [programs](Texts&) { return *programs; });
    sub->add_flag("-f,--follow", programs->follow, "Go on, and wait for what happens");
    sub->add_option("--offset", programs->offset,
                    "Begin at this offset of the record, from an earlier line");
    sub->add_option("SANDBOX", programs->sandbox, "Id or name")->required();

    add(net_command_line());
    add(policy_command_line());
    add(secret_command_line());
    add(proxy_command_line());

    auto top = std::make_shared<TopArgs>();
    sub = add<TopArgs>(
        "top", "What running sandboxes use, live",
        "  cay top\n  cay top --once --json\n\nq or Ctrl-C ends it.\n",
        [top](Texts& texts) {
          if (!texts.timeout.empty()) top->every_s = must(parse_duration(texts.timeout), "--every");
          if (top->every_s < 0.1) throw CLI::ValidationError("--every", "must be at least 100ms");
          return *top;
        },
        "Host");
    sub->add_option("--every", texts_.timeout, "How often it is looked at (default: 2s)");
    sub->add_flag("--once", top->once, "One look, and the end");

    auto events = std::make_shared<EventsArgs>();
    sub = add<EventsArgs>(
        "events", "What happened to sandboxes and commands, in order",
        "  cay events --sandbox box\n"
        "  cay events --follow --after now --json     one JSON object a line, from now on\n"
        "  cay events --after 1200 --type command.ended\n",
        [events](Texts&) { return *events; }, "Host");
    sub->add_flag("-f,--follow", events->follow, "Go on, and wait for what happens");
    sub->add_option("--after", events->after,
                    "The number of the last event seen, or now (default: all that are kept)");
    sub->add_option("--sandbox", events->sandbox, "Id or name");
    sub->add_option("--type", events->types,
                    "A type, or its beginning up to a dot: command.; repeatable")
        ->take_all()
        ->allow_extra_args(false);
  }

  void add_host_commands() {
    add<SnapshotsArgs>(
        "snapshots", "What a sandbox can boot from", "  cay snapshots\n",
        [](Texts&) { return SnapshotsArgs{}; }, "Host");
    auto doctor = std::make_shared<DoctorArgs>();
    auto* looked_at = add<DoctorArgs>(
        "doctor", "What this host offers, what is missing, and what mends it",
        "  cay doctor\n  cay doctor --json\n"
        "  cay doctor kernel                         one of them; exit code 1 if it is missing\n",
        [doctor](Texts&) { return *doctor; }, "Host");
    looked_at->add_option("FEATURE", doctor->names, "These alone (default: all)");
    auto drain = std::make_shared<DrainArgs>();
    auto* emptied = add<DrainArgs>(
        "drain", "Begin nothing new on this host, and wait for running commands",
        "  cay drain --timeout 10m --stop            then the host may be upgraded or switched off\n"
        "  cay drain --timeout 0                     begin nothing new; do not wait\n"
        "  cay drain --undo\n\n"
        "Exit code 0: no command runs any more. 124: the time was over first; with --stop what still ran was ended.\n",
        [drain](Texts& texts) {
          if (!texts.timeout.empty())
            drain->timeout_s = must(parse_duration(texts.timeout), "--timeout");
          if (drain->stop && drain->undo)
            throw CLI::ValidationError("--undo", "and --stop do not go together");
          return *drain;
        },
        "Host");
    emptied->add_option("--timeout", texts_.timeout,
                        "Wait so long for running commands (default: 5m)");
    emptied->add_flag("--stop", drain->stop,
                      "Then stop every sandbox (default: leave them running)");
    emptied->add_flag("--undo", drain->undo, "Admit again");
    add<VersionArgs>(
        "version", "Versions of this program and of the daemon", "  cay version\n",
        [](Texts&) { return VersionArgs{}; }, "Host");
    add<EnvArgs>(
        "env", "Print where the daemon is and the key, for a shell and for LangSmith's clients",
        "  eval \"$(cay env)\" && python3 agent.py\n\n"
        "Sets CAY_URL, CAY_API_KEY, LANGSMITH_ENDPOINT and LANGSMITH_API_KEY to what this command line uses itself.\n",
        [](Texts&) { return EnvArgs{}; }, "Host");
    auto* sub = add<CompletionArgs>(
        "completion", "Print a completion script for a shell",
        "  cay completion bash > /etc/bash_completion.d/cay\n"
        "  cay completion zsh > \"${fpath[1]}/_cay\"\n"
        "  cay completion fish > ~/.config/fish/completions/cay.fish\n",
        [this](Texts& texts) { return CompletionArgs{completion_script(texts.shell, words())}; },
        "Host");
    sub->add_option("SHELL", texts_.shell, "bash, zsh or fish")
        ->required()
        ->check(CLI::IsMember({"bash", "zsh", "fish"}));
  }

  std::vector<CompletionWord> words() const {
    std::vector<CompletionWord> out;
    for (const auto* sub : app_.get_subcommands(nullptr)) {
      CompletionWord word{sub->get_name(), sub->get_description(), {}, false};
      for (const auto* option : sub->get_options()) {
        for (const auto& name : option->get_lnames()) word.options.push_back("--" + name);
        if (option->get_name() == "SANDBOX") word.takes_sandbox = true;
      }
      out.push_back(std::move(word));
    }
    return out;
  }

  Parsed finish() {
    if (dashes_ && chosen_ != "run" && chosen_ != "exec" && !after_.empty()) {
      throw CLI::ExtrasError({std::vector<std::string>(after_)});
    }
    const auto finisher = finishers_.find(chosen_);
    if (finisher == finishers_.end()) throw CLI::ExtrasError({chosen_});
    return {Invocation{finisher->second(), json_}, 0, {}, {}};
  }

  std::string suggestion(const std::vector<std::string>& args) const {
    const auto* sub = app_.get_subcommands().empty() ? nullptr : app_.get_subcommands().front();
    std::vector<std::string> known;
    if (sub == nullptr) {
      for (const auto* one : app_.get_subcommands(nullptr)) known.push_back(one->get_name());
    } else {
      for (const auto* option : sub->get_options()) {
        for (const auto& name : option->get_lnames()) known.push_back("--" + name);
      }
    }
    for (const auto& arg : args) {
      const std::string found = nearest(arg.substr(0, arg.find('=')), known);
      if (sub != nullptr && found == arg.substr(0, arg.find('=')))
        return " It belongs behind the command: `cay " + sub->get_name() + " " + arg + "`.";
      if (!found.empty())
        return " Did you mean `" + (sub == nullptr ? "cay " : std::string()) + found + "`?";
    }
    return {};
  }

  Parsed explain(const CLI::ParseError& thrown) const {
    const auto* sub = app_.get_subcommands().empty() ? nullptr : app_.get_subcommands().front();
    const std::string name = sub == nullptr ? "cay" : "cay " + sub->get_name();
    if (thrown.get_exit_code() == static_cast<int>(CLI::ExitCodes::Success)) {
      return {std::nullopt, kOk, sub == nullptr ? app_.help() : sub->help("cay"), {}};
    }
    std::string message = thrown.what();
    if (dynamic_cast<const CLI::ExtrasError*>(&thrown) != nullptr) {
      const auto left = app_.remaining(true);
      const std::string what = left.empty() ? std::string("an argument") : "'" + left.front() + "'";
      message =
          sub == nullptr ? "there is no command " + what + "." : what + " is not expected here.";
      message += suggestion(left);
      if (sub != nullptr && (sub->get_name() == "run" || sub->get_name() == "exec") && !dashes_) {
        message += " Put `--` before the command to be run.";
      }
    }
    if (dynamic_cast<const CLI::ConversionError*>(&thrown) != nullptr) {
      // "Could not convert: --offset = x": all values that CLI11 itself converts are whole numbers.
      const std::string asked = message.substr(std::min(message.find(": ") + 2, message.size()));
      message =
          asked.substr(0, asked.find(" = ")) + ": must be a whole number that is not negative";
    }
    return {std::nullopt, kOurFailure, {}, "cay: " + message + "\nSee `" + name + " --help`.\n"};
  }

  CLI::App app_;
  Texts texts_;
  bool json_ = false;
  bool dashes_ = false;
  std::vector<std::string> after_;
  std::string chosen_;
  std::map<std::string, std::function<Args()>> finishers_;
};

}  // namespace

Parsed parse(const std::vector<std::string>& args, const std::vector<Hook>& hooks) {
  return Parser(hooks).parse(args);
}

}  // namespace cay::cli
