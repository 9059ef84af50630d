#include "launcher/clone_probe.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/file.h"
#include "os/process.h"

namespace cay::launcher {
namespace {

constexpr const char* kGroup = "clone-probe";

}  // namespace

bool clones_into_groups(int parent) {
  // A new one: what an earlier launcher left has a counter of its own.
  (void)::unlinkat(parent, kGroup, AT_REMOVEDIR);
  if (::mkdirat(parent, kGroup, 0755) != 0) return false;
  bool works = false;
  if (const auto group = os::open_dir(parent, kGroup)) {
    const auto child = os::clone_process(0, group->get());
    if (child && child->pid == 0) ::_exit(0);
    int status = 0;
    works = child && ::waitpid(child->pid, &status, 0) == child->pid && WIFEXITED(status);
  }
  (void)::unlinkat(parent, kGroup, AT_REMOVEDIR);
  return works;
}

}  // namespace cay::launcher
