#include "keeper/guest_sockets.h"

#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace cay::keeper {
namespace {

constexpr std::int64_t kPatienceMs = 5000;  // making them takes well under a millisecond

// The maker's report beside the descriptors: first `v4` of the first family, then those of the
// second.
struct Made {
  std::int32_t err = 0;
  std::int32_t v4 = 0;
  std::int32_t v6 = 0;
};

union Control {
  cmsghdr head;
  char bytes[CMSG_SPACE(sizeof(int) * 16)];
};

int make_socket(int family) {
  return ::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_TCP);
}

void close_all_but(int one, int other) {
  const auto low = static_cast<unsigned>(std::min(one, other));
  const auto high = static_cast<unsigned>(std::max(one, other));
  if (low > 0) ::syscall(SYS_close_range, 0U, low - 1, 0);
  if (high > low + 1) ::syscall(SYS_close_range, low + 1, high - 1, 0);
  ::syscall(SYS_close_range, high + 1, ~0U, 0);
}

// The maker: a copy of the keeper, gone after one message.
[[noreturn]] void run_maker(int init_pidfd, int to_keeper, int count) {
  close_all_but(init_pidfd, to_keeper);
  Made made;
  int fds[16];
  int total = 0;
  if (::setns(init_pidfd, CLONE_NEWUSER | CLONE_NEWNET) != 0) {
    made.err = errno;
  } else {
    for (; made.v4 < count; ++made.v4) {
      const int fd = make_socket(AF_INET);
      if (fd < 0) {
        made.err = errno;
        break;
      }
      fds[total++] = fd;
    }
    for (; made.v6 < made.v4; ++made.v6) {
      const int fd = make_socket(AF_INET6);
      if (fd < 0) break;  // a sandbox without IPv6
      fds[total++] = fd;
    }
  }
  iovec text{&made, sizeof made};
  Control control{};
  msghdr message{};
  message.msg_iov = &text;
  message.msg_iovlen = 1;
  if (total > 0) {
    const std::size_t size = sizeof(int) * static_cast<std::size_t>(total);
    message.msg_control = control.bytes;
    message.msg_controllen = CMSG_SPACE(size);
    cmsghdr* head = CMSG_FIRSTHDR(&message);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(size);
    std::memcpy(CMSG_DATA(head), fds, size);
  }
  ::_exit(::sendmsg(to_keeper, &message, MSG_NOSIGNAL) == ssize_t{sizeof made} ? 0 : 1);
}

std::vector<UniqueFd> descriptors_of(msghdr& message) {
  std::vector<UniqueFd> out;
  for (cmsghdr* head = CMSG_FIRSTHDR(&message); head != nullptr;
       head = CMSG_NXTHDR(&message, head)) {
    if (head->cmsg_level != SOL_SOCKET || head->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (head->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(head) + i * sizeof(int), sizeof fd);
      out.emplace_back(fd);
    }
  }
  return out;
}

Error cannot(int err) {
  return Error{Code::kUnavailable, "tunnel_failed",
               std::string("no socket could be made in the sandbox: ") + std::strerror(err), err};
}

}  // namespace

GuestSockets::~GuestSockets() {
  if (maker_ != 0) ::kill(maker_, SIGKILL);
}

void GuestSockets::take(OnReady ready) {
  waiting_.push_back(std::move(ready));
  if (maker_ != 0 || from_maker_) return;
  if (stock_.empty()) return make();
  loop_.defer([this] { serve(); });
}

void GuestSockets::make() {
  if (context_.init_pidfd < 0) {  // no sandbox: where the keeper is
    Pair pair{UniqueFd(make_socket(AF_INET)), UniqueFd(make_socket(AF_INET6))};
    const int err = errno;
    if (!pair.v4) return loop_.defer([this, err] { give_up(cannot(err)); });
    stock_.push_back(std::move(pair));
    return loop_.defer([this] { serve(); });
  }
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) != 0) {
    return loop_.defer([this, err = errno] { give_up(cannot(err)); });
  }
  from_maker_.reset(ends[0]);
  const UniqueFd theirs(ends[1]);
  const pid_t pid = ::fork();
  if (pid == 0) run_maker(context_.init_pidfd, theirs.get(), kBatch);
  if (pid < 0) {
    from_maker_.reset();
    return loop_.defer([this, err = errno] { give_up(cannot(err)); });
  }
  maker_ = pid;
  reaper_.expect(pid, [this, pid](const Exit&) {
    if (maker_ == pid) maker_ = 0;
  });
  watch_ = loop_.watch(from_maker_.get(), EPOLLIN, [this](std::uint32_t) { on_message(); });
  deadline_ = loop_.after(kPatienceMs, [this] {
    if (maker_ != 0) ::kill(maker_, SIGKILL);
    give_up(cannot(ETIMEDOUT));
  });
}

void GuestSockets::on_message() {
  Made made;
  iovec text{&made, sizeof made};
  Control control{};
  msghdr message{};
  message.msg_iov = &text;
  message.msg_iovlen = 1;
  message.msg_control = control.bytes;
  message.msg_controllen = sizeof control.bytes;
  const ssize_t got = ::recvmsg(from_maker_.get(), &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  std::vector<UniqueFd> fds = descriptors_of(message);
  if (got != ssize_t{sizeof made}) return give_up(cannot(got < 0 ? errno : ECHILD));
  const auto v4 = static_cast<std::size_t>(made.v4);
  const auto v6 = static_cast<std::size_t>(made.v6);
  if (v4 == 0 || fds.size() != v4 + v6) return give_up(cannot(made.err != 0 ? made.err : EPROTO));
  for (std::size_t i = 0; i < v4; ++i) {
    Pair pair;
    pair.v4 = std::move(fds[i]);
    if (i < v6) pair.v6 = std::move(fds[v4 + i]);
    stock_.push_back(std::move(pair));
  }
  watch_.reset();
  deadline_.reset();
  from_maker_.reset();
  maker_ = 0;  // it ends by itself
  serve();
}

void GuestSockets::give_up(const Error& error) {
  watch_.reset();
  deadline_.reset();
  from_maker_.reset();
  maker_ = 0;
  for (const OnReady& ready : std::exchange(waiting_, {})) ready(error);
}

void GuestSockets::serve() {
  while (!waiting_.empty() && !stock_.empty()) {
    const OnReady ready = std::move(waiting_.front());
    waiting_.pop_front();
    Pair pair = std::move(stock_.back());
    stock_.pop_back();
    ready(std::move(pair));
  }
  if (!waiting_.empty() && maker_ == 0 && !from_maker_) make();
}

}  // namespace cay::keeper
