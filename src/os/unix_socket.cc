#include "os/unix_socket.h"

#include <fcntl.h>
#include <sys/fsuid.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace cay::os {
namespace {

// File work as another user, for the life of the object (credentials(7), file system uid).
class ActingAs {
 public:
  ActingAs(uid_t uid, gid_t gid)
      : gid_(static_cast<gid_t>(::setfsgid(gid))), uid_(static_cast<uid_t>(::setfsuid(uid))) {}
  ~ActingAs() {
    ::setfsuid(uid_);
    ::setfsgid(gid_);
  }
  ActingAs(const ActingAs&) = delete;
  ActingAs& operator=(const ActingAs&) = delete;

 private:
  gid_t gid_;
  uid_t uid_;
};

}  // namespace

Result<SocketPair> socket_pair() {
  int fds[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) != 0) {
    return Error::from_errno(errno, "make a socket pair");
  }
  return SocketPair{UniqueFd(fds[0]), UniqueFd(fds[1])};
}

Result<UniqueFd> listen_unix(int dir, const std::string& name, uid_t uid, gid_t gid) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (name.empty() || name.size() >= sizeof address.sun_path ||
      name.find('/') != std::string::npos) {
    return Error{Code::kInternal, "bad_socket_name", "bad socket name " + name, 0};
  }
  std::memcpy(address.sun_path, name.data(), name.size());
  UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) return Error::from_errno(errno, "make a socket");
  const UniqueFd back(::open(".", O_PATH | O_DIRECTORY | O_CLOEXEC));
  int err = 0;
  {
    const ActingAs acting(uid, gid);
    const mode_t mask = ::umask(0177);
    if (::fchdir(dir) != 0) {
      err = errno;
    } else {
      ::unlinkat(dir, name.c_str(), 0);
      if (::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
        err = errno;
    }
    ::umask(mask);
  }
  if (!back || ::fchdir(back.get()) != 0) (void)!::chdir("/");
  if (err != 0) return Error::from_errno(err, "bind " + name);
  if (::listen(fd.get(), 128) != 0) return Error::from_errno(errno, "listen on " + name);
  return fd;
}

Result<UniqueFd> connect_unix(const std::string& path, int flags) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) {
    return Error{Code::kInvalidArgument, "path_too_long",
                 "the data directory's path is too long for a socket: choose a shorter --data", 0};
  }
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | flags, 0));
  if (!fd) return Error::from_errno(errno, "socket");
  if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    return Error::from_errno(errno, "connect to " + path.substr(path.rfind('/') + 1));
  }
  return fd;
}

Result<void> unlink_as(int dir, const std::string& name, uid_t uid, gid_t gid) {
  return unlink_as(dir, std::vector<std::string>{name}, uid, gid);
}

Result<void> unlink_as(int dir, const std::vector<std::string>& names, uid_t uid, gid_t gid) {
  const ActingAs acting(uid, gid);
  for (const std::string& name : names) {
    if (::unlinkat(dir, name.c_str(), 0) != 0 && errno != ENOENT)
      return Error::from_errno(errno, "remove " + name);
  }
  return {};
}

Result<uid_t> peer_uid(int socket_fd) {
  ucred peer{};
  socklen_t size = sizeof peer;
  if (::getsockopt(socket_fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0 ||
      peer.uid == static_cast<uid_t>(-1)) {
    return Error{Code::kUnauthenticated, "unknown_peer",
                 "the kernel does not name the peer of the connection", errno};
  }
  return peer.uid;
}

bool peer_is(int socket_fd, uid_t uid) {
  const auto peer = peer_uid(socket_fd);
  return peer && (*peer == uid || *peer == 0);
}

Result<void> send_message(int socket_fd, std::string_view bytes, const std::vector<int>& fds) {
  const ssize_t sent = send_with(socket_fd, bytes, fds, 0);
  if (sent >= 0 && static_cast<std::size_t>(sent) < bytes.size())
    return Error::from_errno(EMSGSIZE, "send a message whole");
  if (sent >= 0) return {};
  return Error::from_errno(errno,
                           fds.size() > kMaxPassedFds ? "pass descriptors" : "send a message");
}

ssize_t send_with(int socket_fd, std::string_view bytes, std::span<const int> fds, int flags) {
  iovec data{const_cast<char*>(bytes.data()), bytes.size()};  // sendmsg only reads
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * kMaxPassedFds)]{};
  if (fds.size() > kMaxPassedFds) {
    errno = EMSGSIZE;
    return -1;
  }
  if (!fds.empty()) {
    message.msg_control = control;
    message.msg_controllen = CMSG_SPACE(sizeof(int) * fds.size());
    cmsghdr* head = CMSG_FIRSTHDR(&message);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(sizeof(int) * fds.size());
    std::memcpy(CMSG_DATA(head), fds.data(), sizeof(int) * fds.size());
  }
  for (;;) {
    const ssize_t sent = ::sendmsg(socket_fd, &message, flags | MSG_NOSIGNAL);
    if (sent >= 0 || errno != EINTR) return sent;
  }
}

Result<Message> receive_message(int socket_fd) {
  char buffer[4096];
  Message got;
  const ssize_t n = receive_with(socket_fd, buffer, got.fds);
  if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
    return Error{Code::kNotReady, "no_message", "no message yet", errno};
  }
  if (n < 0) return Error::from_errno(errno, "receive a message");
  got.bytes.assign(buffer, static_cast<std::size_t>(n));
  got.fds_lost = std::erase_if(got.fds, [](const UniqueFd& fd) { return !fd; }) > 0;
  return got;
}

ssize_t receive_with(int socket_fd, std::span<char> into, std::vector<UniqueFd>& fds) {
  iovec data{into.data(), into.size()};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * kMaxPassedFds)];  // the kernel fills it
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  ssize_t n = 0;
  do {
    n = ::recvmsg(socket_fd, &message, MSG_CMSG_CLOEXEC);
  } while (n < 0 && errno == EINTR);
  if (n < 0) return n;
  for (cmsghdr* head = CMSG_FIRSTHDR(&message); head != nullptr;
       head = CMSG_NXTHDR(&message, head)) {
    if (head->cmsg_level != SOL_SOCKET || head->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (head->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(head) + i * sizeof(int), sizeof fd);
      fds.emplace_back(fd);
    }
  }
  if ((message.msg_flags & MSG_CTRUNC) != 0) fds.emplace_back();
  return n;
}

}  // namespace cay::os
