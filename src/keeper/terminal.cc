#include "keeper/terminal.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace cay::keeper {
namespace {

// One byte, and one descriptor beside it.
struct Parcel {
  char byte = 't';
  iovec bytes{&byte, 1};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};

  Parcel() {
    message.msg_iov = &bytes;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
  }
};

bool send_fd(int socket, int fd) {
  Parcel parcel;
  cmsghdr* head = CMSG_FIRSTHDR(&parcel.message);
  head->cmsg_level = SOL_SOCKET;
  head->cmsg_type = SCM_RIGHTS;
  head->cmsg_len = CMSG_LEN(sizeof fd);
  std::memcpy(CMSG_DATA(head), &fd, sizeof fd);
  return ::sendmsg(socket, &parcel.message, MSG_NOSIGNAL | MSG_DONTWAIT) == 1;
}

// No descriptor: nothing more is there.
UniqueFd receive_fd(int socket) {
  Parcel parcel;
  ssize_t got = 0;
  do {
    got = ::recvmsg(socket, &parcel.message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
  } while (got < 0 && errno == EINTR);
  const cmsghdr* head = got == 1 ? CMSG_FIRSTHDR(&parcel.message) : nullptr;
  if (head == nullptr || head->cmsg_type != SCM_RIGHTS || head->cmsg_len != CMSG_LEN(sizeof(int)))
    return {};
  int fd = -1;
  std::memcpy(&fd, CMSG_DATA(head), sizeof fd);
  return UniqueFd(fd);
}

}  // namespace

int open_terminal(int socket, int devpts, const TerminalPlan& plan) {
  constexpr int kFlags = O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK;
  const int keepers =
      devpts >= 0 ? ::openat(devpts, "ptmx", kFlags | O_NOFOLLOW) : ::open("/dev/ptmx", kFlags);
  if (keepers < 0) return -1;
  int locked = 0;
  if (::ioctl(keepers, TIOCSPTLCK, &locked) != 0) return -1;
  const int users = ::ioctl(keepers, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
  if (users < 0) return -1;
  set_terminal_size(keepers, plan.rows, plan.cols);
  if (!send_fd(socket, keepers)) return -1;
  ::close(keepers);
  return users;
}

Result<UniqueFd> receive_terminal(int socket) {
  UniqueFd last;
  while (UniqueFd next = receive_fd(socket)) last = std::move(next);
  struct stat info{};
  if (!last || ::fstat(last.get(), &info) != 0 || !S_ISCHR(info.st_mode) ||
      major(info.st_rdev) != 5 || minor(info.st_rdev) != 2) {
    return Error{Code::kInternal, "start_failed",
                 "the sandbox's ptmx is not a terminal multiplexer", 0};
  }
  return last;
}

void set_terminal_size(int fd, std::uint16_t rows, std::uint16_t cols) {
  winsize size{};
  size.ws_row = rows;
  size.ws_col = cols;
  ::ioctl(fd, TIOCSWINSZ, &size);
}

}  // namespace cay::keeper
