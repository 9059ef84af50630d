#include "launcher/late_unmounts.h"

#include <sched.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <utility>

#include "os/process.h"

namespace cay::launcher {
namespace {

constexpr auto kGather = std::chrono::milliseconds(200);
constexpr std::size_t kMost = 1024;  // descriptors: more would pile up behind a slow disk
constexpr std::size_t kAtOnce = 16;  // processes that close: each waits for the commit

// Closes every n-th of these, which the processes of a batch have in common.
void close_share(const std::vector<int>& fds, std::size_t first, std::size_t step) {
  for (std::size_t i = first; i < fds.size(); i += step) ::close(fds[i]);
}

[[noreturn]] void close_all(const std::vector<int>& fds) {
  ::prctl(PR_SET_NAME, "cay-unmounts");
  os::close_all_but(fds);
  const std::size_t shares = std::min(kAtOnce, fds.size());
  std::vector<pid_t> helpers;
  for (std::size_t share = 1; share < shares; ++share) {
    // One table of descriptors for all, so that a close is the last one.
    const auto helper = os::clone_process(CLONE_FILES);
    if (helper && helper->pid == 0) {
      close_share(fds, share, shares);
      ::_exit(0);
    }
    if (helper) helpers.push_back(helper->pid);
    if (!helper) close_share(fds, share, shares);
  }
  close_share(fds, 0, shares);
  for (const pid_t helper : helpers) ::waitpid(helper, nullptr, 0);
  ::_exit(0);
}

}  // namespace

void LateUnmounts::keep(UniqueFd root) {
  if (kept_.size() >= kMost) return;
  if (kept_.empty()) due_ = Clock::now() + kGather;
  kept_.push_back(std::move(root));
}

int LateUnmounts::tick() {
  if (kept_.empty() || child_) return -1;  // the child's end is an event
  const auto left = due_ - Clock::now();
  if (left > Clock::duration::zero())
    return static_cast<int>(std::chrono::ceil<std::chrono::milliseconds>(left).count());
  let_go();
  return -1;
}

void LateUnmounts::let_go() {
  auto child = os::clone_process(0);
  if (child && child->pid == 0) {
    std::vector<int> fds;
    fds.reserve(kept_.size());
    for (const UniqueFd& root : kept_) fds.push_back(root.get());
    close_all(fds);
  }
  kept_.clear();  // the child has them now. Without one they go here
  if (!child) return;
  child_ = std::move(child->pidfd);
  child_pid_ = child->pid;
  poller_.watch(child_.get(), EPOLLIN, [this](std::uint32_t) {
    poller_.forget(child_.get());
    ::waitpid(child_pid_, nullptr, 0);
    child_.reset();
  });
}

}  // namespace cay::launcher
