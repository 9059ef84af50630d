#include "keeper/helper_session.h"

#include <fcntl.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "keeper/guest_user.h"

namespace cay::keeper {
namespace {

// The sanitizer keeps freed memory for a while.
#if __has_feature(address_sanitizer)
constexpr long kMostGrowthKib = 32 * 1024;
#else
constexpr long kMostGrowthKib = 4 * 1024;
#endif
// With these a process of the same user could make the next operation fail.
constexpr int kLimits[] = {RLIMIT_FSIZE, RLIMIT_NOFILE, RLIMIT_AS, RLIMIT_DATA, RLIMIT_CPU};

long peak_kib() {
  rusage usage{};
  return ::getrusage(RUSAGE_SELF, &usage) == 0 ? usage.ru_maxrss : 0;
}

}  // namespace

// Above the root there is only the root, or what was mounted over it since: a process that enters
// the mount namespace starts there.
HelperSession::Root HelperSession::Root::now() {
  struct statx info{};
  if (::statx(AT_FDCWD, "/..", 0, STATX_INO | STATX_MNT_ID, &info) != 0) return {};
  const bool numbered = (info.stx_mask & STATX_MNT_ID) != 0;
  return {makedev(info.stx_dev_major, info.stx_dev_minor), info.stx_ino,
          numbered ? info.stx_mnt_id : 0};
}

HelperSession::Limits HelperSession::Limits::now() {
  Limits out;
  for (std::size_t i = 0; i < out.soft.size(); ++i) {
    rlimit limit{};
    if (::getrlimit(static_cast<__rlimit_resource_t>(kLimits[i]), &limit) == 0)
      out.soft[i] = limit.rlim_cur;
  }
  return out;
}

HelperSession::HelperSession(std::string user)
    : user_(std::move(user)), root_(Root::now()), limits_(Limits::now()), memory_kib_(peak_kib()) {}

bool HelperSession::holds() const {
  return root_ == Root::now() && limits_ == Limits::now() && is_same_user();
}

bool HelperSession::is_large() const { return peak_kib() - memory_kib_ > kMostGrowthKib; }

bool HelperSession::is_same_user() const {
  static GuestUser now;
  if (!resolve_user(user_.c_str(), now)) return false;
  gid_t groups[kMaxGroups];
  const int count = ::getgroups(kMaxGroups, groups);
  if (now.uid != ::getuid() || now.gid != ::getgid() || now.group_count != count) return false;
  // The kernel keeps them sorted.
  std::sort(now.groups, now.groups + count);
  std::sort(groups, groups + count);
  return std::equal(groups, groups + count, now.groups);
}

}  // namespace cay::keeper
