#include "cli/session.h"

#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "cli/exit_code.h"
#include "cli/missing.h"
#include "cli/output.h"
#include "cli/refused.h"
#include "cli/render.h"
#include "cli/terminal.h"

namespace cay::cli {
namespace {

constexpr std::size_t kInputPiece = 64 * 1024;
constexpr std::size_t kKeptForJson = 1 << 20;

// Ends the command's input. A terminal has no half-close: its end of file is a character, Ctrl-D,
// which ends one read. So several are typed, for a command that reads again. `attach` types none:
// the command runs on without it.
void end_input(sdk::Command& command, const SessionOptions& options) {
  constexpr std::size_t kReads = 16;
  constexpr char kEndOfFile = 4;
  if (!options.terminal) {
    command.close_stdin();
  } else if (options.owner) {
    command.write_stdin(std::string(kReads, kEndOfFile));
  }
}

// Reads our stdin, if it is passed on, and writes the command's. It runs on a thread that nobody
// joins: a read of a terminal cannot be taken back, and the thread owns all it uses.
void pass_input(sdk::Command command, const SessionOptions& options) {
  std::vector<char> piece(kInputPiece);
  try {
    while (options.interactive) {
      const auto got = ::read(STDIN_FILENO, piece.data(), piece.size());
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) break;
      command.write_stdin({piece.data(), static_cast<std::size_t>(got)});
    }
    end_input(command, options);
  } catch (const ApiError& error) {
    // A command that has ended or closed its stdin: as with a pipe, what is left is of no use.
    // After any other failure it must not take the part that it got for the whole.
    if (options.interactive && error.reason() != "stdin_closed") {
      print_error("input was lost: " + std::string(error.what()) + "; the command was killed");
      try {
        command.kill();
      } catch (const ApiError&) {
        // The command or the daemon is gone: the reader of its output reports that.
      }
    }
  }
}

// Decides how a signal to this program reaches the command.
class SignalPolicy {
 public:
  SignalPolicy(sdk::Command command, const SessionOptions& options)
      : command_(std::move(command)), options_(options) {}

  void operator()(int signal) {
    if (signal == SIGWINCH) {
      resize();
      return;
    }
    if (!options_.owner || count_ >= 2) {
      if (!options_.owner) print_error("left; the command runs on");
      if (!options_.left_behind.empty()) print_error(options_.left_behind);
      end_by_signal(signal);
    }
    // The first is passed on, as a terminal would; the second means it.
    tell(count_++ == 0 ? signal : 0);
  }

 private:
  // Requests go on threads of their own: a daemon that hangs must not make the next Ctrl-C wait.
  void resize() {
    const auto size = options_.terminal ? terminal_size(STDIN_FILENO) : std::nullopt;
    if (!size) return;
    std::thread([command = command_, size = *size]() mutable {
      try {
        command.resize(size);
      } catch (const ApiError&) {
        // It ended: its size is of no use.
      }
    }).detach();
  }

  void tell(int signal) {
    std::thread([command = command_, signal]() mutable {
      try {
        command.kill(signal);
      } catch (const ApiError& error) {
        if (error.code() == ErrorCode::kUnavailable) print_error(error.what());
      }
    }).detach();
  }

  sdk::Command command_;
  SessionOptions options_;
  int count_ = 0;
};

class SignalScope {
 public:
  SignalScope(Signals& signals, SignalPolicy policy) : signals_(signals) {
    signals_.on(std::move(policy));
  }
  ~SignalScope() { signals_.on({}); }
  SignalScope(const SignalScope&) = delete;

 private:
  Signals& signals_;
};

class Printer {
 public:
  Printer(sdk::Command command, const SessionOptions& options)
      : command_(std::move(command)), options_(options) {}

  // Both streams. False: leave now, nobody reads.
  bool add(sdk::Event& event) {
    if (const auto* gap = std::get_if<sdk::Gap>(&event)) {
      missing_.add(*gap);
      return true;
    }
    missing_.look();
    const auto* output = std::get_if<sdk::Output>(&event);
    if (output == nullptr || broken_) return true;
    const Written done = write_all(
        output->stream == sdk::Stream::kStdout ? STDOUT_FILENO : STDERR_FILENO, output->bytes);
    if (done == Written::kAll) return true;
    if (done == Written::kFailed)
      print_error(std::string("cannot write the command's output: ") + std::strerror(errno));
    broken_ = true;
    failed_ = done == Written::kFailed;
    if (!options_.owner) return false;
    // As in a pipeline: who writes to a reader that has gone gets SIGPIPE. Then it is drained.
    command_.kill(done == Written::kBrokenPipe ? SIGPIPE : 0);
    return true;
  }
  bool broken() const { return broken_; }
  // Prints the last notes, after all output was read.
  void finish() { missing_.finish(); }
  // Returns true if output could not be written here. The command's own exit code would then vouch
  // for bytes that nobody has.
  bool failed() const { return failed_; }

 private:
  sdk::Command command_;
  SessionOptions options_;
  Missing missing_{print_error};
  bool broken_ = false;
  bool failed_ = false;
};

void show_refused(const sdk::CommandInfo& command, const sdk::Sandbox& box,
                  const WhereItRan& where) {
  const auto told = refusals_of(box, command);
  if (!told) return;
  std::istringstream note(told->before ? refusal_note(told->report, *told->before, where,
                                                      "during the command before it")
                                       : refusal_note(told->report, {command.started_at}, where));
  for (std::string line; std::getline(note, line);) print_error(line);
}

int show_end(const sdk::CommandInfo& command, const sdk::Sandbox& box, const WhereItRan& where,
             bool broken) {
  const std::string sentence = end_sentence(command);
  if (!sentence.empty() && !broken) print_error(sentence);
  if (command.exit_code != 0 && !broken) show_refused(command, box, where);
  return command.shell_exit_code();
}

}  // namespace

int run_session(sdk::Command command, const sdk::Sandbox& box, const std::string& sandbox,
                const SessionOptions& options, Signals& signals) {
  const SignalScope scope(signals, SignalPolicy(command, options));
  // An input that is not passed on is at its end. Without a terminal the command starts with that.
  const bool ends_input = options.terminal && options.owner;
  if (options.interactive || ends_input) {
    std::thread(pass_input, command, options).detach();
  }
  if (options.json) {
    auto result = command.wait({}, kKeptForJson);
    result.sandbox = sandbox;
    const auto told = result.ok() ? std::nullopt : refusals_of(box, result.command);
    print(result_json(result,
                      told ? std::optional(refused_since(told->report, result.command.started_at))
                           : std::nullopt));
    return result.command.shell_exit_code();
  }
  Printer printer(command,
                  options);  // before the terminal is raw: its last notes need an ordinary one
  std::optional<RawTerminal> raw;
  // Ctrl-C in a terminal that is not raw is a signal to us, which is passed on.
  if (options.terminal && options.interactive) raw.emplace();
  while (true) {
    auto event = command.next();
    if (auto* end = std::get_if<sdk::End>(&event)) {
      raw.reset();  // the next lines need an ordinary terminal
      printer.finish();
      const int code = show_end(end->command, box, {.name = sandbox, .removed = options.removed},
                                printer.broken());
      return printer.failed() ? kOurFailure : code;
    }
    if (!printer.add(event)) return printer.failed() ? kOurFailure : kBrokenPipe;
  }
}

}  // namespace cay::cli
