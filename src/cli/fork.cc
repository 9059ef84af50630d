// cay fork, cay rollback: a sandbox's disk, again in another one, and back as it was.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cli/args.h"
#include "cli/command.h"
#include "cli/context.h"
#include "cli/exit_code.h"
#include "cli/image.h"
#include "cli/output.h"
#include "cli/render.h"
#include "cli/sandbox_words.h"

namespace cay::cli {
namespace {

constexpr std::uint64_t kMostForks = 1000;

std::vector<std::string> names_of(const std::string& name, std::uint32_t count) {
  if (name.empty() || count == 1)
    return name.empty() ? std::vector<std::string>() : std::vector<std::string>{name};
  std::vector<std::string> out;
  for (std::uint32_t i = 1; i <= count; ++i) out.push_back(name + "-" + std::to_string(i));
  return out;
}

int fork_command(Context& at, const ForkArgs& args) {
  const auto made = at.client.sandbox(args.sandbox).fork(args.fork);
  std::vector<std::string> texts;
  for (const auto& info : made) texts.push_back(info.json);
  if (at.json) {
    print(json_array(texts));
    return kOk;
  }
  for (const auto& info : made) print(info.name + "\n");
  note_disk_alone("a fork", at.json);
  return kOk;
}

int rollback_command(Context& at, const RollbackArgs& args) {
  const auto info = at.client.sandbox(args.sandbox).rollback(args.to);
  print(at.json ? info.json + "\n" : info.name + "\n");
  return kOk;
}

}  // namespace

Command fork_entry() {
  struct State {
    ForkArgs args;
    std::uint64_t count = 1;
    std::string name;
  };
  const auto state = std::make_shared<State>();
  return {.name = "fork",
          .help = "Make sandboxes with a copy of a sandbox's disk",
          .examples =
              "  cay fork box                              prints the name of the new one\n"
              "  cay fork box --name attempt\n"
              "  cay fork box -n 3                         three, for three attempts\n\n"
              "The disk is copied as it is at this moment, in milliseconds, and shares its blocks "
              "until they change.\nProcesses and their memory are not copied: a fork boots anew. "
              "The sandbox itself goes on.\n",
          .options =
              [state](Options& to) {
                to.needed("SANDBOX", state->args.sandbox, "Id or name");
                to.number("-n,--count", state->count, "So many (default: 1)");
                to.text("--name", state->name,
                        "Name it (default: one is made up). Several get NAME-1, NAME-2 and so on");
              },
          .args = [state](const Line&) -> std::any {
            if (state->count == 0 || state->count > kMostForks)
              wrong("-n", "must be from 1 to " + std::to_string(kMostForks));
            sdk::ForkOptions& fork = state->args.fork;
            fork.count = static_cast<std::uint32_t>(state->count);
            fork.names = names_of(state->name, fork.count);
            return state->args;
          },
          .run = runs(fork_command)};
}

Command rollback_entry() {
  const auto args = std::make_shared<RollbackArgs>();
  return {.name = "rollback",
          .help = "Put a sandbox's disk back to a snapshot; its processes end",
          .examples =
              "  cay rollback box                          as it was when it was made\n"
              "  cay snapshot capture box --name good && cay exec box -- ./risky\n"
              "  cay rollback box --to good\n\n"
              "All that changed on its disk since is dropped, and it boots anew. Its name, limits "
              "and policy stay.\n",
          .options =
              [args](Options& to) {
                to.needed("SANDBOX", args->sandbox, "Id or name");
                to.text("--to", args->to, "A snapshot (default: the one that it was made from)");
              },
          .args = [args](const Line&) -> std::any { return *args; },
          .run = runs(rollback_command)};
}

}  // namespace cay::cli
