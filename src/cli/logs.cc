// logs: what commands wrote, of one from any byte, or of all that are kept.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>

#include "cli/args.h"
#include "cli/command.h"
#include "cli/context.h"
#include "cli/exit_code.h"
#include "cli/missing.h"
#include "cli/output.h"
#include "cli/render.h"
#include "cli/values.h"
#include "codec/time.h"

namespace cay::cli {
namespace {

// Prints what a command wrote, up to `until` of each stream if it is given.
int print_logs(sdk::Command command, const LogsArgs& args, std::optional<sdk::Offsets> until,
               sdk::Offsets at) {
  const auto finished = [&] { return until && at.out >= until->out && at.err >= until->err; };
  Missing missing(print_error);
  while (!finished()) {
    auto event = command.next();
    if (std::holds_alternative<sdk::End>(event)) break;
    if (const auto* gap = std::get_if<sdk::Gap>(&event)) {
      (gap->stream == sdk::Stream::kStdout ? at.out : at.err) = gap->offset + gap->length;
      const bool shown =
          args.stream.empty() || (args.stream == "stdout") == (gap->stream == sdk::Stream::kStdout);
      if (shown) missing.add(*gap);
      continue;
    }
    missing.look();
    auto& output = std::get<sdk::Output>(event);
    const bool is_out = output.stream == sdk::Stream::kStdout;
    std::uint64_t& position = is_out ? at.out : at.err;
    position = output.offset + output.bytes.size();
    if (until) {
      const std::uint64_t end = is_out ? until->out : until->err;
      if (position > end)
        output.bytes.resize(output.bytes.size() -
                            std::min<std::uint64_t>(position - end, output.bytes.size()));
    }
    if (!args.stream.empty() && (args.stream == "stdout") != is_out) continue;
    // A stream that had not come so far was read from its end of then.
    if (output.offset < args.offset)
      output.bytes.erase(0,
                         std::min<std::uint64_t>(args.offset - output.offset, output.bytes.size()));
    // A single requested stream goes to stdout, whichever it is.
    const int fd = is_out || !args.stream.empty() ? STDOUT_FILENO : STDERR_FILENO;
    const Written done = write_all(fd, output.bytes);
    if (done != Written::kAll) return done == Written::kBrokenPipe ? kBrokenPipe : kOurFailure;
  }
  return kOk;
}

int print_one(const sdk::Sandbox& box, const sdk::CommandInfo& info, const LogsArgs& args) {
  // A stream that is not shown is skipped to its end, and so is one that is shorter than --offset.
  // If none is long enough, the daemon's refusal has their lengths.
  const std::uint64_t out_end = info.out.bytes, err_end = info.err.bytes;
  const bool beyond = args.offset > (args.stream == "stderr"   ? err_end
                                     : args.stream == "stdout" ? out_end
                                                               : std::max(out_end, err_end));
  const auto begin = [&](std::uint64_t end) {
    return beyond && !args.follow ? args.offset : std::min(args.offset, end);
  };
  const sdk::Offsets from{.out = args.stream == "stderr" ? out_end : begin(out_end),
                          .err = args.stream == "stdout" ? err_end : begin(err_end)};
  std::optional<sdk::Offsets> until;
  if (!args.follow) until = sdk::Offsets{.out = info.out.bytes, .err = info.err.bytes};
  return print_logs(box.attach(info.id, from), args, until, from);
}

// Returns whether it ran in the last `seconds`, or may have. A lost one without a seen end ran
// until the sandbox's stop at the latest. A sandbox that runs again (or still runs) has no known
// stop.
bool ran_since(const sdk::CommandInfo& info, double seconds, const std::string& stopped_at) {
  if (info.running()) return true;
  const bool lost = info.state == "lost" && info.ended_at.empty();
  if (lost && stopped_at.empty()) return true;
  const auto last = codec::from_rfc3339(lost                    ? stopped_at
                                        : info.ended_at.empty() ? info.started_at
                                                                : info.ended_at);
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const auto since = std::chrono::duration<double>(now).count() - seconds;
  return last &&
         static_cast<double>(std::max(*last, codec::from_rfc3339(info.started_at).value_or(0))) /
                 1000 >=
             since;
}

void keep_those_since(const sdk::Sandbox& box, double seconds,
                      std::vector<sdk::CommandInfo>& commands) {
  const bool any_lost =
      std::ranges::any_of(commands, [](const auto& info) { return info.state == "lost"; });
  const std::string stopped_at = any_lost ? box.info().stopped_at : "";
  std::erase_if(commands, [&](const auto& info) { return !ran_since(info, seconds, stopped_at); });
}

std::string headline(const sdk::CommandInfo& info) {
  std::string line = "==> " + info.id + ":";
  for (const auto& word : info.argv) line += " " + printable(word);
  constexpr std::size_t kWide = 100;
  if (line.size() > kWide) line = line.substr(0, kWide - 3) + "...";
  return line + " <==\n";
}

int print_all(const sdk::Sandbox& box, std::vector<sdk::CommandInfo> commands,
              const LogsArgs& args) {
  std::ranges::sort(commands, [](const auto& a, const auto& b) {
    return a.started_at != b.started_at ? a.started_at < b.started_at : a.id < b.id;
  });
  for (const auto& info : commands) {
    write_all(STDERR_FILENO, headline(info));
    const int code = print_one(box, info, args);
    if (code != kOk) return code;
  }
  return kOk;
}

int logs_command(Context& at, const LogsArgs& args) {
  const auto box = at.client.sandbox(args.sandbox);
  if (!args.command.empty()) {
    const auto info = box.command(args.command);
    if (!at.json) return print_one(box, info, args);
    print(info.json + "\n");
    return kOk;
  }
  auto commands = box.commands();
  if (args.since_s) keep_those_since(box, *args.since_s, commands);
  if (!at.json) return print_all(box, std::move(commands), args);
  std::vector<std::string> items;
  for (const auto& info : commands) items.push_back(info.json);
  print(json_array(items));
  return kOk;
}

}  // namespace

Command logs_entry() {
  struct State {
    LogsArgs args;
    std::string since;
    bool only_out = false, only_err = false;
  };
  const auto state = std::make_shared<State>();
  return {
      .name = "logs",
      .help = "Print a command's output, exact to the byte",
      .examples =
          "  cay logs box ID\n  cay logs --follow box ID\n  cay logs --stderr --offset 4096 box "
          "ID\n"
          "  cay logs --since 10m box                  all commands that ran in the last ten "
          "minutes\n\n"
          "Of a stopped sandbox too: nothing is woken. When a lost command ended is not known: for "
          "--since it ran until its\n"
          "sandbox's stop, or until now where the sandbox runs again.\n",
      .options =
          [state](Options& to) {
            LogsArgs& args = state->args;
            to.flag("-f,--follow", args.follow, "Go on until the command ends");
            to.choice("--stream", args.stream, {"stdout", "stderr"},
                      "stdout or stderr (default: both)");
            to.flag("--stdout", state->only_out, "Only stdout");
            to.flag("--stderr", state->only_err, "Only stderr; it goes to stdout then");
            to.number("--offset,--since-offset", args.offset, "Begin at this byte of the stream");
            to.text("--since", state->since,
                    "Only commands that ran in the last so long, as 10m, or may have (lost ones)");
            to.needed("SANDBOX", args.sandbox, "Id or name");
            to.text("COMMAND", args.command,
                    "Command id, from exec -d or ps (default: all that are kept)");
          },
      .args = [state](const Line&) -> std::any {
        LogsArgs& args = state->args;
        const bool one = !args.command.empty();
        if (!one && args.follow)
          wrong("--follow", "needs the COMMAND to follow: `cay ps` lists them");
        if (!one && args.offset > 0) wrong("--offset", "needs the COMMAND whose bytes it counts");
        if (one && !state->since.empty())
          wrong("--since", "chooses among commands: leave COMMAND out, or give --offset");
        if (!state->since.empty()) args.since_s = must(parse_duration(state->since), "--since");
        if (state->only_out && state->only_err)
          wrong("--stdout", "and --stderr do not go together: both are the default");
        if (state->only_out) args.stream = "stdout";
        if (state->only_err) args.stream = "stderr";
        return args;
      },
      .run = runs(logs_command)};
}

}  // namespace cay::cli
