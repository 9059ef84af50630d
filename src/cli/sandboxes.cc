#include <functional>
#include <memory>

#include "cli/args.h"
#include "cli/command.h"
#include "cli/context.h"
#include "cli/exit_code.h"
#include "cli/image.h"
#include "cli/output.h"
#include "cli/proxy_rules.h"
#include "cli/render.h"
#include "cli/sandbox_words.h"
#include "cli/values.h"

namespace cay::cli {
namespace {

void show(const Context& at, const sdk::SandboxInfo& info) {
  print(at.json ? info.json + "\n" : info.name + "\n");
}

// Does `work` to each of the named (or all) sandboxes. It goes on after a failure, and reports
// each.
int for_each_ref(Context& at, const RefsArgs& args,
                 const std::function<bool(const sdk::SandboxInfo&)>& wanted,
                 const std::function<void(const sdk::Sandbox&)>& work) {
  std::vector<std::string> refs = args.refs;
  if (args.all) {
    for (const auto& info : at.client.list()) {
      if (wanted(info)) refs.push_back(info.name);
    }
  }
  std::vector<std::string> done, items;  // items: of the answer in JSON, one for each named sandbox
  int code = kOk;
  for (const auto& ref : refs) {
    try {
      work(at.client.sandbox(ref));
      done.push_back(ref);
      items.push_back(json_item(ref));
    } catch (const ApiError& error) {
      const bool gone = error.code() == ErrorCode::kNotFound && (args.force || args.all);
      if (gone) continue;  // somebody else was quicker
      if (error.code() == ErrorCode::kUnavailable || error.code() == ErrorCode::kUnauthenticated)
        throw;
      print_error(ref + ": " + error.what());
      items.push_back(json_item(ref, error));
      code = kOurFailure;
    }
  }
  if (at.json) {
    print(json_array(items));
  } else if (args.all) {
    for (const auto& ref : done) print(ref + "\n");
  }
  return code;
}

int create_command(Context& at, const CreateCommandArgs& args) {
  auto options = with_rules(args.sandbox, args.rules);
  if (!args.image.empty()) options.snapshot = snapshot_of(at, args.image).id;
  const auto made = args.claim.empty() ? at.client.create_info(options)
                                       : at.client.ensure(args.claim, options).info;
  show(at, made);
  if (made.network == "unavailable")
    print_error(made.name + " has no way out: " + made.network_reason);
  return kOk;
}

int ls_command(Context& at, const LsArgs& args) {
  const auto items = at.client.list(args.filter);
  if (at.json) {
    std::vector<std::string> texts;
    for (const auto& item : items) texts.push_back(item.json);
    print(json_array(texts));
  } else if (args.quiet) {
    for (const auto& item : items) print(item.name + "\n");
  } else {
    print(sandbox_table(items));
  }
  return kOk;
}

int stop_command(Context& at, const StopArgs& args) {
  const auto runs = [](const sdk::SandboxInfo& info) {
    return info.state == "ready" || info.state == "provisioning" || info.state == "paused";
  };
  return for_each_ref(at, args, runs, [](const sdk::Sandbox& box) { box.stop(); });
}

int start_command(Context& at, const StartArgs& args) {
  const auto stands = [](const sdk::SandboxInfo& info) {
    return info.state == "stopped" || info.state == "failed";
  };
  return for_each_ref(at, args, stands, [](const sdk::Sandbox& box) { box.start(); });
}

int pause_command(Context& at, const PauseArgs& args) {
  const auto runs = [](const sdk::SandboxInfo& info) { return info.state == "ready"; };
  return for_each_ref(at, args, runs, [](const sdk::Sandbox& box) { box.pause(); });
}

int resume_command(Context& at, const ResumeArgs& args) {
  const auto paused = [](const sdk::SandboxInfo& info) { return info.state == "paused"; };
  return for_each_ref(at, args, paused, [](const sdk::Sandbox& box) { box.resume(); });
}

int rename_command(Context& at, const RenameArgs& args) {
  sdk::UpdateOptions update;
  update.name = args.name;
  show(at, at.client.sandbox(args.sandbox).update(update));
  return kOk;
}

int label_command(Context& at, const LabelArgs& args) {
  const auto box = at.client.sandbox(args.sandbox);
  sdk::Labels labels = box.info().labels;
  for (const auto& change : args.changes) {
    const auto equals = change.find('=');
    if (equals != std::string::npos && equals > 0) {
      labels[change.substr(0, equals)] = change.substr(equals + 1);
    } else if (equals == std::string::npos && change.size() > 1 && change.back() == '-') {
      labels.erase(change.substr(0, change.size() - 1));
    } else {
      throw ApiError(ErrorCode::kInvalidArgument, "bad_value",
                     "'" + change + "': write KEY=VALUE to set a label, KEY- to remove it");
    }
  }
  sdk::UpdateOptions update;
  update.labels = std::move(labels);
  show(at, box.update(update));
  return kOk;
}

int set_command(Context& at, const SetArgs& args) {
  show(at, at.client.sandbox(args.sandbox).update(args.changes));
  return kOk;
}

int stats_command(Context& at, const StatsArgs& args) {
  std::vector<std::string> refs = args.refs;
  if (refs.empty()) {
    sdk::ListOptions ready;
    ready.state = "ready";
    for (const auto& info : at.client.list(ready)) refs.push_back(info.name);
  }
  std::vector<NamedStats> items;
  for (const auto& ref : refs) items.push_back({ref, at.client.sandbox(ref).stats()});
  print(at.json ? stats_json(items) : stats_table(items));
  return kOk;
}

}  // namespace

Command create_entry() {
  struct State {
    CreateCommandArgs args;
    CreateWords words;
    std::vector<std::string> env;
  };
  const auto state = std::make_shared<State>();
  return {.name = "create",
          .help = "Make a sandbox",
          .examples =
              "  cay create --name box --memory 1GiB --label project=demo\n"
              "  cay create --image python:3.12 --name py  an image, pulled where it is not here\n"
              "  cay create --cpus 0.5 --ttl never         does not stop by itself\n"
              "  cay create --ttl 1h --delete-after-stop 2d\n"
              "  cay create --claim thread:7               the same sandbox each time\n",
          .options =
              [state](Options& to) {
                sdk::CreateOptions& sandbox = state->args.sandbox;
                state->words.declare(to, sandbox, state->args.image, state->args.rules);
                to.text("-u,--user", sandbox.user,
                        "The user of commands that name none (default: root)");
                to.text("-w,--workdir", sandbox.workdir,
                        "The directory of commands that name none");
                to.texts("-e,--env", state->env, "KEY=VALUE for every command; repeatable");
                to.text("--claim", state->args.claim,
                        "Print the sandbox that has this claim, as thread:7, and make one if none "
                        "has it",
                        [](const std::string& text) {
                          return text.empty() ? std::string("must not be empty") : std::string();
                        });
              },
          .args = [state](const Line&) -> std::any {
            state->words.fill(state->args.sandbox, state->args.image, state->args.rules);
            state->args.sandbox.env = must(parse_env(state->env), "--env");
            return state->args;
          },
          .run = runs(create_command)};
}

Command ls_entry() {
  const auto args = std::make_shared<LsArgs>();
  return {.name = "ls",
          .help = "List sandboxes",
          .examples =
              "  cay ls\n  cay ls --label project=demo --state ready\n  cay ls -q | xargs -r cay "
              "rm\n",
          .options =
              [args](Options& to) {
                to.texts("--label", args->filter.labels,
                         "KEY or KEY=VALUE; repeatable, all must match");
                to.text("--state", args->filter.state,
                        "provisioning, ready, stopped, failed, deleting or paused");
                to.text("--name", args->filter.name_contains, "Part of the name");
                to.text("--claim", args->filter.claim, "The one that has this claim");
                to.flag("-q,--quiet", args->quiet, "Names only");
              },
          .args = [args](const Line&) -> std::any { return *args; },
          .run = runs(ls_command)};
}

namespace {

template <class T>
Command refs_entry(Command words, int (*verb)(Context&, const T&)) {
  const auto args = std::make_shared<T>();
  words.options = [args](Options& to) {
    to.arguments("SANDBOX", args->refs, "Ids or names");
    to.flag("-a,--all", args->all, "All of them");
  };
  words.args = [args](const Line&) -> std::any {
    check_refs(*args, false);
    return *args;
  };
  words.run = runs(verb);
  return words;
}

}  // namespace

Command stop_entry() {
  return refs_entry({.name = "stop",
                     .help = "Stop sandboxes; their disks stay",
                     .examples = "  cay stop box\n  cay stop --all\n"},
                    stop_command);
}

Command start_entry() {
  return refs_entry(
      {.name = "start", .help = "Start stopped sandboxes", .examples = "  cay start box\n"},
      start_command);
}

Command pause_entry() {
  return refs_entry({.name = "pause",
                     .help = "Hold sandboxes still, with their memory: no CPU, nothing ends",
                     .examples = "  cay pause box\n"},
                    pause_command);
}

Command resume_entry() {
  return refs_entry({.name = "resume",
                     .help = "Let paused sandboxes go on",
                     .examples = "  cay resume box\n  cay resume --all\n"},
                    resume_command);
}

Command rename_entry() {
  const auto args = std::make_shared<RenameArgs>();
  return {.name = "rename",
          .help = "Rename a sandbox",
          .examples = "  cay rename box builder\n",
          .options =
              [args](Options& to) {
                to.needed("SANDBOX", args->sandbox, "Id or name");
                to.needed("NAME", args->name, "The new name");
              },
          .args = [args](const Line&) -> std::any { return *args; },
          .run = runs(rename_command)};
}

Command label_entry() {
  const auto args = std::make_shared<LabelArgs>();
  return {.name = "label",
          .help = "Set and remove labels",
          .examples = "  cay label box team=a stage=test\n  cay label box stage-\n",
          .options =
              [args](Options& to) {
                to.needed("SANDBOX", args->sandbox, "Id or name");
                to.needed("LABEL", args->changes, "KEY=VALUE sets, KEY- removes");
              },
          .args = [args](const Line&) -> std::any { return *args; },
          .run = runs(label_command)};
}

Command set_entry() {
  struct State {
    SetArgs args;
    TimerWords timers;
    std::vector<std::string> read_only, hidden;
  };
  const auto state = std::make_shared<State>();
  return {.name = "set",
          .help = "Change a sandbox's timers, and the paths that it keeps",
          .examples =
              "  cay set box --ttl 2h\n"
              "  cay set box --ttl never --delete-after-stop 7d --lifetime never\n"
              "  cay stop box && cay set box --read-only /repo/vendor --hide /repo/.env\n"
              "  cay stop box && cay set box --hide none\n\n"
              "What is not named stays. `cay ls --json` shows the timers and paths. Paths replace "
              "those of before, and none means that there are\nno more. The sandbox must be "
              "stopped for them.\n",
          .options =
              [state](Options& to) {
                to.needed("SANDBOX", state->args.sandbox, "Id or name");
                state->timers.declare(to);
                declare_paths(to, state->read_only, state->hidden);
              },
          .args = [state](const Line&) -> std::any {
            sdk::UpdateOptions& to = state->args.changes;
            to.read_only_paths = replaced_paths(state->read_only, "--read-only");
            to.hidden_paths = replaced_paths(state->hidden, "--hide");
            if (!state->timers.fill(to) && !to.read_only_paths && !to.hidden_paths)
              missing("--ttl, --delete-after-stop, --lifetime, --read-only or --hide");
            return state->args;
          },
          .run = runs(set_command)};
}

Command stats_entry() {
  const auto args = std::make_shared<StatsArgs>();
  return {.name = "stats",
          .help = "What sandboxes use now",
          .examples = "  cay stats\n  cay stats box --json\n",
          .options =
              [args](Options& to) {
                to.arguments("SANDBOX", args->refs, "Ids or names (default: all that are ready)");
              },
          .args = [args](const Line&) -> std::any { return *args; },
          .run = runs(stats_command)};
}

}  // namespace cay::cli
