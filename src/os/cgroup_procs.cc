#include "os/cgroup_procs.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/unique_fd.h"
#include "os/file.h"
#include "os/process.h"

namespace cay::os {
namespace {

constexpr std::size_t kMostText = 4 << 20;

std::vector<pid_t> members(int group) {
  const auto text = read_file(group, "cgroup.procs", kMostText);
  return text ? pids_of(*text) : std::vector<pid_t>();
}

}  // namespace

std::vector<pid_t> pids_of(std::string_view text) {
  std::vector<pid_t> pids;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    pid_t pid = 0;
    const auto read = std::from_chars(line.data(), line.data() + line.size(), pid);
    if (read.ec == std::errc() && read.ptr == line.data() + line.size() && pid > 0)
      pids.push_back(pid);
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  return pids;
}

std::size_t kill_members(int group) {
  std::vector<std::pair<pid_t, UniqueFd>> held;
  for (const pid_t pid : members(group)) {
    UniqueFd process(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
    if (process && pid != ::getpid()) held.emplace_back(pid, std::move(process));
  }
  // Read again: while the process that we hold lives, its number is its own; once it has ended, no
  // signal reaches anybody.
  const std::vector<pid_t> still = members(group);
  std::size_t killed = 0;
  for (const auto& [pid, process] : held) {
    if (std::find(still.begin(), still.end(), pid) == still.end()) continue;
    kill_process(process.get());
    ++killed;
  }
  return killed;
}

}  // namespace cay::os
