// UNIX sockets: listening under a directory descriptor, descriptors passed over, who the peer is.
#pragma once
#include <sys/types.h>

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"

namespace cay::os {

struct SocketPair {
  UniqueFd ours, theirs;
};

// SOCK_SEQPACKET, close-on-exec: each message arrives whole or not at all.
Result<SocketPair> socket_pair();

// Returns a non-blocking stream socket that listens at `name` in directory `dir`, with mode 0600.
// It is made with the file system identity uid:gid, so that it is that user's from its first
// moment. A hostile owner of `dir` cannot have anything else chowned. A socket already there is
// replaced. The working directory changes during the bind, for names longer than a sockaddr_un:
// single-threaded callers only.
Result<UniqueFd> listen_unix(int dir, const std::string& name, uid_t uid, gid_t gid);

// Returns a stream socket connected to `path`. `flags` are those of socket(2), and SOCK_CLOEXEC is
// added. Fails kInvalidArgument: path_too_long. Errors contain the last part of `path` alone, since
// they reach clients, who need not know its place on the host.
Result<UniqueFd> connect_unix(const std::string& path, int flags = 0);

// Removes `name` with the rights of uid:gid. Absent is success.
Result<void> unlink_as(int dir, const std::string& name, uid_t uid, gid_t gid);
// The same for several names.
Result<void> unlink_as(int dir, const std::vector<std::string>& names, uid_t uid, gid_t gid);

// The peer's uid as of its connect. Fails if the socket has none.
Result<uid_t> peer_uid(int socket_fd);

// Whether it is uid's, or root's.
bool peer_is(int socket_fd, uid_t uid);

inline constexpr std::size_t kMaxPassedFds = 176;

// Sends one message with at most kMaxPassedFds descriptors, whole. A blocking socket waits. If a
// stream socket took only a part, that is an error, and the stream cannot be used any more.
Result<void> send_message(int socket_fd, std::string_view bytes, const std::vector<int>& fds = {});

// Like send(2): -1 with errno, never EINTR. The descriptors go with the first of the bytes.
ssize_t send_with(int socket_fd, std::string_view bytes, std::span<const int> fds, int flags);

struct Message {
  std::string bytes;  // empty: the peer is gone
  std::vector<UniqueFd> fds;
  bool fds_lost = false;  // some could not be taken: no descriptor was free (EMFILE)
};
// Received descriptors are close-on-exec. Code kNotReady when there is nothing (non-blocking).
Result<Message> receive_message(int socket_fd);

// Like recv(2): -1 with errno. Descriptors that came beside the bytes are appended to `fds`,
// close-on-exec. One that could not be taken (EMFILE) is there as an empty one.
ssize_t receive_with(int socket_fd, std::span<char> into, std::vector<UniqueFd>& fds);

}  // namespace cay::os
