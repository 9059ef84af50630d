#include "cli/terminal.h"

#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdlib>

namespace cay::cli {
namespace {

// Process-wide, for the terminal is.
termios saved_modes{};         // NOLINT: written before `raw` is set
std::atomic<bool> raw{false};  // NOLINT

void on_crash(int signal) {
  restore_terminal();
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

}  // namespace

std::optional<sdk::TerminalSize> terminal_size(int fd) {
  winsize size{};
  if (::ioctl(fd, TIOCGWINSZ, &size) != 0) return std::nullopt;
  if (size.ws_row == 0 || size.ws_col == 0) return sdk::TerminalSize{};
  return sdk::TerminalSize{.rows = size.ws_row, .cols = size.ws_col};
}

void restore_terminal() {
  if (raw.exchange(false)) ::tcsetattr(STDIN_FILENO, TCSADRAIN, &saved_modes);
}

RawTerminal::RawTerminal() {
  if (::tcgetattr(STDIN_FILENO, &saved_modes) != 0) return;
  termios modes = saved_modes;
  ::cfmakeraw(&modes);
  for (const int signal : {SIGSEGV, SIGABRT, SIGBUS, SIGFPE, SIGILL}) std::signal(signal, on_crash);
  std::atexit(restore_terminal);
  raw = true;
  ::tcsetattr(STDIN_FILENO, TCSADRAIN, &modes);
}

RawTerminal::~RawTerminal() { restore_terminal(); }

}  // namespace cay::cli
