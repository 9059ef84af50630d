// cay context: interpreters in a sandbox that keep their variables between calls.
#include <unistd.h>

#include <iostream>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cay/contexts.h"
#include "cli/command.h"
#include "cli/context.h"
#include "cli/context_events.h"
#include "cli/exit_code.h"
#include "cli/interrupt_scope.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/render.h"

namespace cay::cli {
namespace {

constexpr int kFailedCode = 1;  // of run: the code ended in an error

struct ContextArgs {
  std::string action, sandbox, context, code;
  sdk::ContextOptions options;
  sdk::CallOptions call;
};

const std::vector<std::string>& context_actions() {
  static const std::vector<std::string> kAll{"create", "ls", "run", "interrupt", "restart", "rm"};
  return kAll;
}

int list_contexts(Context& at, const sdk::Contexts& contexts) {
  const auto all = contexts.list();
  if (at.json) {
    std::vector<std::string> texts;
    for (const auto& one : all) texts.push_back(one.json);
    print(json_array(texts));
    return kOk;
  }
  std::vector<Row> rows;
  for (const auto& one : all)
    rows.push_back({one.id, one.language, one.state, std::to_string(one.generation)});
  print(table({"CONTEXT", "LANGUAGE", "STATE", "GENERATION"}, rows));
  return kOk;
}

int run_in_context(Context& at, const sdk::Contexts& contexts, const ContextArgs& args) {
  std::string code = args.code;
  if (code == "-")
    code.assign(std::istreambuf_iterator<char>(std::cin), std::istreambuf_iterator<char>());
  sdk::Evaluation got;
  {
    const InterruptScope scope(*at.signals, contexts, args.context, InterruptScope::Again::kLeaves);
    got = at.json ? contexts.run(args.context, code, args.call)
                  : contexts.run(args.context, code, print_event, args.call);
  }
  if (at.json) print(got.json + "\n");
  if (got.state == "ok") return kOk;
  if (got.state == "interrupted") return kInterrupted;
  if (got.exit_code) return static_cast<int>(*got.exit_code);
  if (got.state != "lost") return kFailedCode;
  if (!at.json) {
    print_error("the evaluation is lost: its interpreter " + end_of(got) +
                ". Begin anew with cay context restart " + args.sandbox + " " + args.context);
  }
  return kOurFailure;
}

int context_command(Context& at, const ContextArgs& args) {
  const sdk::Contexts contexts(at.client, args.sandbox);
  if (args.action == "ls") return list_contexts(at, contexts);
  if (args.action == "run") return run_in_context(at, contexts, args);
  if (args.action == "create" || args.action == "restart") {
    const auto made =
        args.action == "create" ? contexts.create(args.options) : contexts.restart(args.context);
    print(at.json ? made.json + "\n" : made.id + "\n");
    return kOk;
  }
  if (args.action == "interrupt") contexts.interrupt(args.context);
  if (args.action == "rm") contexts.remove(args.context);
  return kOk;
}

void check_context_words(const ContextArgs& args) {
  const bool makes = args.action == "create";
  const bool runs = args.action == "run";
  if (!makes && (!args.options.language.empty() || !args.options.cwd.empty() ||
                 !args.options.user.empty() || args.options.warm)) {
    wrong("-l, -w, -u and --warm", "go with create");
  }
  if (args.action == "ls" && !args.context.empty()) wrong("CONTEXT", "does not go with ls");
  if (!makes && args.action != "ls" && args.context.empty()) missing("CONTEXT");
  if (runs && args.code.empty()) missing("CODE");
  if (!runs && !args.code.empty()) wrong("CODE", "goes with run");
  if (!runs && args.call.fork) wrong("--fork", "goes with run");
}

}  // namespace

Command context_entry() {
  struct State {
    ContextArgs args;
    std::vector<std::string> words;
  };
  const auto state = std::make_shared<State>();
  return {
      .name = "context",
      .help = "Interpreters in a sandbox that keep their variables",
      .examples =
          "  cay context create box main               prints its name\n"
          "  cay context run box main 'x = 20 + 1'\n"
          "  cay context run box main '2 * x'          prints 42\n"
          "  cay context run box main - <cell.py       code from stdin\n"
          "  cay context run --json box main 'plot()'  pictures and all other parts\n"
          "  cay context run --fork box main 'x = 0'   in a process of its own: x stays 21\n"
          "  cay context interrupt box main            ends what runs, and keeps the variables\n"
          "  cay context restart box main              begins anew without them\n"
          "  cay context ls box\n"
          "  cay context rm box main\n\n"
          "A context outlives the daemon, and ends with the sandbox's processes. Code that ends in "
          "an error is exit\ncode 1. The first Ctrl-C in run interrupts the code and waits for its "
          "end, and the variables stay. A\nsecond one leaves, and the code runs on.\n",
      .actions = context_actions(),
      .shows_a_program = true,  // run takes Ctrl-C
      .options =
          [state](Options& to) {
            to.choice("ACTION", state->args.action, context_actions(),
                      "create, ls, run, interrupt, restart or rm", Options::Need::kRequired);
            to.needed("SANDBOX", state->args.sandbox, "Id or name");
            to.arguments("CONTEXT", state->words,
                         "The context, and behind it for run the code, or - for stdin");
            to.text("-l,--language", state->args.options.language,
                    "create: python, javascript or bash (default: python)");
            to.flag("--warm", state->args.options.warm, "create: return when it is ready");
            to.flag("--fork", state->args.call.fork,
                    "run: in a process forked off the interpreter (python)");
            to.text("-w,--workdir", state->args.options.cwd, "create: where it begins");
            to.text("-u,--user", state->args.options.user, "create: who it runs as");
          },
      .args = [state](const Line&) -> std::any {
        ContextArgs& args = state->args;
        if (!state->words.empty()) args.context = state->words[0];
        if (state->words.size() > 1) args.code = state->words[1];
        if (state->words.size() > 2) wrong("CODE", "is one word: quote it");
        args.options.id = args.context;
        check_context_words(args);
        return args;
      },
      .run = runs(context_command)};
}

}  // namespace cay::cli
