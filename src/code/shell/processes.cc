#include "code/shell/processes.h"

#include <fcntl.h>
#include <signal.h>

#include "code/shell/system_calls.h"

namespace cay::shell {
namespace {

constexpr std::size_t kMostText = 16'384;  // of a list of children
constexpr int kMostDepth = 64;

}  // namespace

bool Children::has(int pid) const {
  for (std::size_t i = 0; i < count; ++i) {
    if (pids[i] == pid) return true;
  }
  return false;
}

void Children::add_of(int parent) {
  Buffer<64> path;
  path.put("/proc/");
  path.put_number(static_cast<std::uint64_t>(parent));
  path.put("/task/");
  path.put_number(static_cast<std::uint64_t>(parent));
  path.put("/children");
  path.put('\0');
  const long fd = system_call(SYS_openat, AT_FDCWD, address(path.data()), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return;
  char list[kMostText];
  const long size = system_call(SYS_read, fd, address(list), sizeof list);
  system_call(SYS_close, fd);
  Text rest{list, size > 0 ? static_cast<std::size_t>(size) : 0};
  while (rest.size > 0 && count < kMostChildren) {
    const long long pid = number_from(take_word(rest));
    if (pid > 0) pids[count++] = static_cast<int>(pid);
  }
}

void kill_tree(int pid, int depth) {
  system_call(SYS_kill, pid, SIGSTOP);  // so that it starts no more
  Children below;
  below.add_of(pid);
  for (std::size_t i = 0; i < below.count && depth < kMostDepth; ++i)
    kill_tree(below.pids[i], depth + 1);
  system_call(SYS_kill, pid, SIGKILL);
}

}  // namespace cay::shell
