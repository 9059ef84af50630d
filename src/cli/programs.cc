// cay programs: what ran in a sandbox, as the kernel saw it.
#include <chrono>
#include <memory>
#include <string>
#include <thread>

#include "cli/args.h"
#include "cli/command.h"
#include "cli/context.h"
#include "cli/exit_code.h"
#include "cli/output.h"
#include "cli/render.h"

namespace cay::cli {
namespace {

constexpr std::uint32_t kPrograms = 1000;
constexpr auto kLookEvery = std::chrono::milliseconds(200);
constexpr auto kRecordRetryFor = std::chrono::seconds(60);  // a daemon that restarts

std::string event_text(const sdk::ProgramEvent& event) {
  if (event.kind == "lost" && event.lost == 0)
    return "records may be missing here, an unknown number: the keeper was killed";
  if (event.kind == "lost")
    return std::to_string(event.lost) +
           " records are missing here: they came faster than they could be kept";
  if (event.kind == "full") return "the record is at its limit: what follows is not kept";
  if (event.kind == "life") return "the sandbox was started: nothing from before runs any more";
  if (event.kind == "start")
    return "by " + (event.parent == 0 ? std::string("cay") : std::to_string(event.parent));
  if (event.kind == "end") {
    if (event.signal)
      return "signal " + std::to_string(*event.signal) +
             (event.oom_killed ? " (out of memory)" : "");
    return "exit code " + std::to_string(event.exit_code.value_or(0));
  }
  std::string line = event.path + "  [";
  for (std::size_t i = 0; i < event.args.size(); ++i) line += (i == 0 ? "" : " ") + event.args[i];
  return line + "]";
}

// "2026-11-21T00:00:00.000Z  17  exec   /bin/true  [true]"
std::string line_of(const sdk::ProgramEvent& event) {
  std::string out = event.at + "  " + (event.pid == 0 ? "-" : std::to_string(event.pid)) + "  ";
  out += event.kind + std::string(event.kind.size() < 5 ? 5 - event.kind.size() : 0, ' ') + "  ";
  return out + printable(event_text(event)) + "\n";
}

// A daemon that restarts loses nothing: the record is its keeper's.
sdk::ProgramPage patient_page(const sdk::Sandbox& box, std::uint64_t offset) {
  const auto give_up = std::chrono::steady_clock::now() + kRecordRetryFor;
  for (;;) {
    try {
      return box.programs(offset, kPrograms);
    } catch (const ApiError& error) {
      if (error.code() != ErrorCode::kUnavailable || std::chrono::steady_clock::now() >= give_up)
        throw;
    }
    std::this_thread::sleep_for(kLookEvery);
  }
}

int programs_command(Context& at, const ProgramsArgs& args) {
  const auto box = at.client.sandbox(args.sandbox);
  std::uint64_t offset = args.offset;
  for (bool first = true;; first = false) {
    const auto page = first ? box.programs(offset, kPrograms) : patient_page(box, offset);
    for (const auto& event : page.items) {
      print(at.json ? event.json + "\n" : line_of(event));
      if (event.kind == "full") return kOk;
    }
    offset = page.next_offset;
    if (!page.items.empty()) continue;
    if (!args.follow) return kOk;
    std::this_thread::sleep_for(kLookEvery);
  }
}

}  // namespace

Command programs_entry() {
  const auto args = std::make_shared<ProgramsArgs>();
  return {.name = "programs",
          .help = "What ran in a sandbox, as the kernel saw it: start and end of every process",
          .examples =
              "  cay run --name box --record-programs -- make\n  cay programs box\n"
              "  cay programs --follow --json box          one JSON object a line\n\n"
              "Of a stopped sandbox too: nothing is woken. The sandbox must have been created with "
              "--record-programs.\n",
          .options =
              [args](Options& to) {
                to.flag("-f,--follow", args->follow, "Go on, and wait for what happens");
                to.number("--offset", args->offset,
                          "Begin at this offset of the record, from an earlier line");
                to.needed("SANDBOX", args->sandbox, "Id or name");
              },
          .args = [args](const Line&) -> std::any { return *args; },
          .run = runs(programs_command)};
}

}  // namespace cay::cli
