#include "keeper/zygote_request.h"

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace cay::keeper {
namespace {

// The message: this, the strings with their NULs (user, cwd, argv, env), and the descriptors in the
// order of ZygoteHead::fds.
struct ZygoteHead {
  pid_t* pid_cell;
  std::uint32_t argc, envc, cpus;
  std::uint16_t rows, cols;
  std::uint8_t joins;
  bool fds[7];  // which of them come: status, group, stdin, stdout, stderr, line, terminal
};

constexpr std::size_t kControlBytes = CMSG_SPACE(sizeof(int) * kZygoteDescriptors);

// Appends strings to a message as long as there is room.
struct StringWriter {
  char* at;
  const char* end;

  bool put(const char* text) {
    const std::size_t size = std::strlen(text) + 1;
    if (size > static_cast<std::size_t>(end - at)) return false;
    std::memcpy(at, text, size);
    at += size;
    return true;
  }
};

// Takes them off it again; nullptr: there is none.
struct StringReader {
  char* at;
  char* end;

  char* next() {
    char* text = at;
    auto* nul = static_cast<char*>(std::memchr(at, '\0', static_cast<std::size_t>(end - at)));
    if (nul == nullptr) return nullptr;
    at = nul + 1;
    return text;
  }
  bool next(char** out, std::uint32_t count) {
    for (std::uint32_t i = 0; i < count; ++i) {
      out[i] = next();
      if (out[i] == nullptr) return false;
    }
    out[count] = nullptr;
    return true;
  }
};

// The descriptors of a plan in the order of a message. The terminal's devpts is not among them: the
// zygote has it.
template <class Plan, class Int>
void descriptors_of(Plan& plan, Int& group, Int* (&out)[7]) {
  Int* const all[7] = {&plan.status_fd, &group,        &plan.stdio[0],       &plan.stdio[1],
                       &plan.stdio[2],  &plan.line_fd, &plan.terminal.socket};
  std::memcpy(out, all, sizeof all);
}

}  // namespace

bool send_to_zygote(int socket, const ChildPlan& plan, int group) {
  int argc = 0;
  while (argc <= kZygoteArgs && plan.argv != nullptr && plan.argv[argc] != nullptr) ++argc;
  if (plan.task != nullptr || argc == 0 || argc > kZygoteArgs || plan.env_count > kZygoteArgs)
    return false;
  ZygoteHead head{};
  head.pid_cell = plan.pid_cell;
  head.argc = static_cast<std::uint32_t>(argc);
  head.envc = static_cast<std::uint32_t>(plan.env_count);
  head.cpus = plan.cpus;
  head.rows = plan.terminal.rows;
  head.cols = plan.terminal.cols;

  static char bytes[kZygoteBytes];
  StringWriter text{bytes + sizeof head, bytes + sizeof bytes};
  bool fits = text.put(plan.user) && text.put(plan.cwd);
  for (int i = 0; fits && i < argc; ++i) fits = text.put(plan.argv[i]);
  for (int i = 0; fits && i < plan.env_count; ++i) fits = text.put(plan.env[i]);
  if (!fits) return false;

  const int* named[7];
  descriptors_of<const ChildPlan, const int>(plan, group, named);
  int fds[kZygoteDescriptors];
  int count = 0;
  for (int i = 0; i < 7; ++i) {
    head.fds[i] = *named[i] >= 0;
    if (head.fds[i]) fds[count++] = *named[i];
  }
  if (count + plan.join_count > kZygoteDescriptors) return false;
  head.joins = static_cast<std::uint8_t>(plan.join_count);
  for (int i = 0; i < plan.join_count; ++i) fds[count++] = plan.joins[i];
  std::memcpy(bytes, &head, sizeof head);

  iovec part{bytes, static_cast<std::size_t>(text.at - bytes)};
  alignas(cmsghdr) char control[kControlBytes] = {};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = CMSG_SPACE(sizeof(int) * static_cast<std::size_t>(count));
  cmsghdr* rights = CMSG_FIRSTHDR(&message);
  rights->cmsg_level = SOL_SOCKET;
  rights->cmsg_type = SCM_RIGHTS;
  rights->cmsg_len = CMSG_LEN(sizeof(int) * static_cast<std::size_t>(count));
  std::memcpy(CMSG_DATA(rights), fds, sizeof(int) * static_cast<std::size_t>(count));
  return ::sendmsg(socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL) ==
         static_cast<ssize_t>(part.iov_len);
}

bool receive_in_zygote(int socket, ZygoteRequest& out) {
  iovec part{out.bytes, sizeof out.bytes};
  alignas(cmsghdr) static char control[kControlBytes];
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  ssize_t got = 0;
  do {
    got = ::recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
  } while (got < 0 && errno == EINTR);
  ZygoteHead head;
  if (got < static_cast<ssize_t>(sizeof head) ||
      (message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0)
    return false;
  std::memcpy(&head, out.bytes, sizeof head);
  if (head.argc > kZygoteArgs || head.envc > kZygoteArgs) return false;

  out.plan = ChildPlan{};
  out.group = -1;
  StringReader text{out.bytes + sizeof head, out.bytes + got};
  out.plan.user = text.next();
  out.plan.cwd = text.next();
  if (out.plan.cwd == nullptr || !text.next(out.argv, head.argc) || !text.next(out.env, head.envc))
    return false;
  out.plan.argv = out.argv;
  out.plan.env = out.env;
  out.plan.env_count = static_cast<int>(head.envc);
  out.plan.cpus = head.cpus;
  out.plan.pid_cell = head.pid_cell;
  out.plan.terminal.rows = head.rows;
  out.plan.terminal.cols = head.cols;

  int fds[kZygoteDescriptors];
  int count = 0;
  const cmsghdr* rights = CMSG_FIRSTHDR(&message);
  if (rights != nullptr && rights->cmsg_type == SCM_RIGHTS) {
    count = static_cast<int>((rights->cmsg_len - CMSG_LEN(0)) / sizeof(int));
    std::memcpy(fds, CMSG_DATA(rights), sizeof(int) * static_cast<std::size_t>(count));
  }
  int* named[7];
  descriptors_of<ChildPlan, int>(out.plan, out.group, named);
  int next = 0;
  for (int i = 0; i < 7; ++i) {
    if (head.fds[i] && next < count) *named[i] = fds[next++];
  }
  out.plan.joins = out.joins;
  while (out.plan.join_count < head.joins && next < count)
    out.joins[out.plan.join_count++] = fds[next++];
  return out.plan.status_fd >= 0 && out.plan.join_count == head.joins;
}

}  // namespace cay::keeper
