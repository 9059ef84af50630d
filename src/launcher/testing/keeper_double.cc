// A keeper for the launcher's own tests. For each connection it runs one program inside (argv, one
// word a line, until the peer shuts its side down), sends its output back and closes. It ends when
// init ends.
#include <fcntl.h>
#include <linux/capability.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "base/unique_fd.h"
#include "keeper/keeper.h"
#include "keeper/stats.h"

namespace cay::keeper {
namespace {

std::vector<std::string> read_words(int fd) {
  std::string text;
  char buffer[4096];
  for (ssize_t n = 0; (n = ::read(fd, buffer, sizeof buffer)) > 0;)
    text.append(buffer, static_cast<std::size_t>(n));
  std::vector<std::string> words;
  std::size_t at = 0;
  while (at < text.size()) {
    std::size_t end = text.find('\n', at);
    if (end == std::string::npos) end = text.size();
    words.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return words;
}

// Moves the calling process into the sandbox's command groups, as a slot named "s0".
void join_groups(const Context& context) {
  const auto join = [](int dir, const char* group) {
    if (dir < 0) return;
    const std::string path = std::string(group) + (*group == '\0' ? "" : "/") + "cgroup.procs";
    const UniqueFd procs(::openat(dir, path.c_str(), O_WRONLY | O_CLOEXEC));
    if (::write(procs.get(), "0", 1) != 1) ::_exit(120);
  };
  ::mkdirat(context.cgroup_fd, "s0", 0755);
  join(context.cgroup_fd, "s0");
  if (context.memory_fd >= 0) ::mkdirat(context.memory_fd, "s0", 0755);
  join(context.memory_fd, "s0");
  join(context.pids_fd, "");
  join(context.cpu_fd, "");
}

[[noreturn]] void run_inside(const Context& context, int out, std::vector<std::string> words) {
  join_groups(context);
  if (::setns(context.init_pidfd, CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWNET |
                                      CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWCGROUP |
                                      (context.own_clocks ? CLONE_NEWTIME : 0)) != 0) {
    ::_exit(121);
  }
  const pid_t pid = ::fork();
  if (pid == 0) {
    // The capabilities that confine() takes from commands, as far as these tests need it.
    for (const int cap : {CAP_SYS_PTRACE, CAP_SYS_RESOURCE, CAP_SYS_NICE, CAP_SYS_ADMIN}) {
      ::prctl(PR_CAPBSET_DROP, cap, 0, 0, 0);
    }
    if (::setgid(0) != 0 || ::setuid(0) != 0) ::_exit(122);
    ::dup2(out, 1);
    ::dup2(out, 2);
    ::close_range(3, ~0U, 0);
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    ::execv(argv[0], argv.data());
    ::_exit(123);
  }
  int status = 0;
  ::waitpid(pid, &status, 0);
  ::_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 124);
}

}  // namespace

Result<void> check(const Context&) { return {}; }
std::vector<int> open_tmpfs(int, const std::vector<std::string>&) { return {}; }

[[noreturn]] void run(const Context& context) {
  for (;;) {
    pollfd items[2] = {{context.listen_fd, POLLIN, 0}, {context.init_pidfd, POLLIN, 0}};
    if (::poll(items, 2, -1) < 0) continue;
    if (items[1].revents != 0) ::_exit(0);
    const UniqueFd peer(::accept4(context.listen_fd, nullptr, nullptr, SOCK_CLOEXEC));
    if (!peer) continue;
    std::vector<std::string> words = read_words(peer.get());
    if (words.empty()) continue;
    const pid_t pid = ::fork();
    if (pid == 0) run_inside(context, peer.get(), std::move(words));
    int status = 0;
    ::waitpid(pid, &status, 0);
    const std::string end =
        "exit " + std::to_string(WIFEXITED(status) ? WEXITSTATUS(status) : -1) + "\n";
    (void)!::write(peer.get(), end.data(), end.size());
  }
}

}  // namespace cay::keeper
