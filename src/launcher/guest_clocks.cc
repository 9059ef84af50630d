#include "launcher/guest_clocks.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "base/unique_fd.h"
#include "os/file.h"

namespace cay::launcher {
namespace {

constexpr const char* kOffsets = "/proc/self/timens_offsets";
constexpr long kNanos = 1'000'000'000;

// The offset that makes `at` zero, as the kernel wants it: nanoseconds are never negative.
std::string back_to_zero(const char* clock, const timespec& at) {
  const bool whole = at.tv_nsec == 0;
  return std::string(clock) + " " + std::to_string(-at.tv_sec - (whole ? 0 : 1)) + " " +
         std::to_string(whole ? 0 : kNanos - at.tv_nsec) + "\n";
}

}  // namespace

ClockStart ClockStart::now() {
  ClockStart start;
  ::clock_gettime(CLOCK_MONOTONIC, &start.monotonic);
  ::clock_gettime(CLOCK_BOOTTIME, &start.boottime);
  return start;
}

bool has_own_clocks() {
  if (::access(kOffsets, F_OK) != 0) return false;
  const auto most = os::read_file(AT_FDCWD, "/proc/sys/user/max_time_namespaces", 32);
  return most && !most->starts_with("0");
}

Result<void> enter_own_clocks(const ClockStart& start) {
  // The file of an undumpable process belongs to the host's root.
  if (::prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) != 0) return Error::from_errno(errno, "set dumpable");
  if (::unshare(CLONE_NEWTIME) != 0) return Error::from_errno(errno, "make the time namespace");
  // Before anybody is in it: then they are fixed.
  CAY_CHECK(os::write_file(
      AT_FDCWD, kOffsets,
      back_to_zero("monotonic", start.monotonic) + back_to_zero("boottime", start.boottime)));
  const UniqueFd made(::open("/proc/self/ns/time_for_children", O_RDONLY | O_CLOEXEC));
  if (!made || ::setns(made.get(), CLONE_NEWTIME) != 0)
    return Error::from_errno(errno, "enter the time namespace");
  return {};
}

}  // namespace cay::launcher
