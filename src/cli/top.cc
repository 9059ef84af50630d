// cay top: what running sandboxes use, live.
#include <poll.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <memory>
#include <thread>

#include "cli/args.h"
#include "cli/command.h"
#include "cli/context.h"
#include "cli/exit_code.h"
#include "cli/output.h"
#include "cli/patient.h"
#include "cli/terminal.h"
#include "cli/top_view.h"
#include "cli/values.h"

namespace cay::cli {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kFirstLook =
    std::chrono::milliseconds(500);  // between the two looks that make the first rates

volatile std::sig_atomic_t ended_by = 0;  // NOLINT: what a signal handler may write

void on_signal(int signal) { ended_by = signal; }

// The whole screen while it lives; what was there comes back with its end.
class Screen {
 public:
  Screen() {
    write_all(STDOUT_FILENO, "\x1b[?1049h\x1b[?25l");  // another page, no cursor
    struct sigaction action{};
    action.sa_handler = on_signal;  // without SA_RESTART: poll() returns
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) ::sigaction(signal, &action, nullptr);
  }
  ~Screen() { write_all(STDOUT_FILENO, "\x1b[?25h\x1b[?1049l"); }
  Screen(const Screen&) = delete;
  Screen& operator=(const Screen&) = delete;

 private:
  RawTerminal raw_;  // so that a key counts at once
};

struct Look {
  std::vector<Use> uses;
  Clock::time_point at;
};

constexpr const char* kStats = "/api/v1/stats";

Look look(const std::string& body) {
  auto answer = codec::parse_object(body);
  if (!answer)
    throw ApiError(ErrorCode::kInternal, "unexpected_answer",
                   "the server's answer is not Cay's: " + answer.error().message);
  return {uses_of(*answer), Clock::now()};
}

double seconds_between(const Look& a, const Look& b) {
  return std::chrono::duration<double>(b.at - a.at).count();
}

// False: the user, or a signal, has had enough.
bool wait(Clock::time_point until) {
  constexpr char kCtrlC = 3;
  for (;;) {
    if (ended_by != 0) return false;
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(until - Clock::now()).count();
    if (left <= 0) return true;
    pollfd keys{STDIN_FILENO, POLLIN, 0};
    if (::poll(&keys, 1, static_cast<int>(left)) <= 0) continue;
    char key = 0;
    if (::read(STDIN_FILENO, &key, 1) != 1) return false;  // the terminal is gone
    if (key == 'q' || key == kCtrlC) return false;
  }
}

std::string title_of(std::size_t running) {
  return "cay top: " + std::to_string(running) + " running" +
         (running == 1 ? " sandbox" : " sandboxes") + "; q ends it";
}

int top_command(Context& at, const TopArgs& args) {
  Look before = look(at.client.request("GET", kStats));
  std::this_thread::sleep_for(kFirstLook);
  const auto every =
      std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(args.every_s));
  const bool live =
      !args.once && !at.json && terminal_size(STDOUT_FILENO) && ::isatty(STDIN_FILENO) != 0;
  if (!live) {
    for (;;) {
      Look now = look(patient_get(at, kStats, sleeping()).value_or(""));
      const auto rows = top_rows(before.uses, now.uses, seconds_between(before, now));
      print(at.json ? codec::write(top_json(rows)) + "\n" : top_table(rows));
      if (args.once) return kOk;
      before = std::move(now);
      std::this_thread::sleep_until(before.at + every);
    }
  }
  {
    const Screen screen;
    std::vector<TopRow> rows;
    const auto draw = [&rows](const std::string& title) {
      const auto size = terminal_size(STDOUT_FILENO).value_or(sdk::TerminalSize{});
      return write_all(STDOUT_FILENO, top_screen(title, rows, size)) == Written::kAll;
    };
    const auto waiting = [&draw](Clock::time_point until) {
      return draw("cay top: the daemon does not answer, these are its last words; q ends it") &&
             wait(until);
    };
    for (;;) {
      const auto body = patient_get(at, kStats, waiting);
      if (!body) break;
      Look now = look(*body);
      rows = top_rows(before.uses, now.uses, seconds_between(before, now));
      if (!draw(title_of(rows.size()))) break;
      before = std::move(now);
      if (!wait(before.at + every)) break;
    }
  }
  return ended_by == 0 || ended_by == SIGINT ? kOk : 128 + ended_by;
}

}  // namespace

Command top_entry() {
  struct State {
    TopArgs args;
    std::string every;
  };
  const auto state = std::make_shared<State>();
  return {.name = "top",
          .help = "What running sandboxes use, live",
          .examples = "  cay top\n  cay top --once --json\n\nq or Ctrl-C ends it.\n",
          .group = kHostGroup,
          .options =
              [state](Options& to) {
                to.text("--every", state->every, "How often it is looked at (default: 2s)");
                to.flag("--once", state->args.once, "One look, and the end");
              },
          .args = [state](const Line&) -> std::any {
            constexpr double kShortest = 0.1;
            if (!state->every.empty())
              state->args.every_s = must(parse_duration(state->every), "--every");
            if (state->args.every_s < kShortest) wrong("--every", "must be at least 100ms");
            return state->args;
          },
          .run = runs(top_command)};
}

}  // namespace cay::cli
