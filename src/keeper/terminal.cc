#include "keeper/terminal.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <cerrno>

namespace cay::keeper {

void set_terminal_size(int fd, std::uint16_t rows, std::uint16_t cols) {
  winsize size{};
  size.ws_row = rows;
  size.ws_col = cols;
  ::ioctl(fd, TIOCSWINSZ, &size);
}

Result<Terminal> open_terminal(int devpts, std::uint16_t rows, std::uint16_t cols) {
  constexpr int kFlags = O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK;
  Terminal terminal;
  terminal.keeper_side.reset(devpts >= 0 ? ::openat(devpts, "ptmx", kFlags | O_NOFOLLOW) : ::open("/dev/ptmx", kFlags));
  struct stat info{};
  if (!terminal.keeper_side) return Error::from_errno(errno, "open a terminal", "start_failed");
  if (::fstat(terminal.keeper_side.get(), &info) != 0 || !S_ISCHR(info.st_mode) ||
      major(info.st_rdev) != 5 || minor(info.st_rdev) != 2) {
    return Error{Code::kInternal, "start_failed", "the sandbox's ptmx is not a terminal multiplexer", 0};
  }
  int locked = 0;
  if (::ioctl(terminal.keeper_side.get(), TIOCSPTLCK, &locked) != 0) {
    return Error::from_errno(errno, "unlock a terminal", "start_failed");
  }
  terminal.user_side.reset(::ioctl(terminal.keeper_side.get(), TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC));
  if (!terminal.user_side) return Error::from_errno(errno, "open a terminal's user side", "start_failed");
  set_terminal_size(terminal.keeper_side.get(), rows, cols);
  return terminal;
}

}  // namespace cay::keeper
