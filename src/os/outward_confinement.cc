#include "os/outward_confinement.h"

#include <climits>
#include <cstdlib>
#include <string>

#include "os/landlock.h"

namespace cay::os {
namespace {

// Directories and not files: a file that is renamed into place is another one, which a rule for the
// old would not let be read.
constexpr const char* kRead[] = {
    "/etc",  // resolv.conf, hosts, nsswitch.conf, gai.conf, ld.so.cache
    "/usr",
    "/lib",
    "/lib64",  // what nsswitch.conf names is loaded when it is needed first
    "/run/systemd/resolve",
    "/run/resolvconf",
    "/run/NetworkManager"};

UniqueFd place(const std::string& path) {
  return UniqueFd(::open(path.c_str(), O_PATH | O_CLOEXEC));
}

// The directories that resolv.conf and hosts link to.
std::string directory_of(const char* file) {
  char path[PATH_MAX];
  if (::realpath(file, path) == nullptr) return {};
  const std::string found(path);
  return found.substr(0, found.rfind('/'));
}

Result<void> bound_files(int directory, int readable) {
  CAY_TRY(Landlock rules, Landlock::begin());
  CAY_CHECK(rules.allow_keeping_files(directory));
  if (readable >= 0) {
    CAY_CHECK(rules.allow_reading(readable));
  }
  for (const char* path : kRead) {
    if (const UniqueFd at = place(path)) {
      CAY_CHECK(rules.allow_reading(at.get()));
    }
  }
  for (const char* file : {"/etc/resolv.conf", "/etc/hosts"}) {
    const std::string path = directory_of(file);
    if (path.empty()) continue;  // there is none, or it is in the root directory itself
    if (const UniqueFd at = place(path)) {
      CAY_CHECK(rules.allow_reading(at.get()));
    }
  }
  return rules.enforce();
}

}  // namespace

Result<int> confine_outward(FilterSpan calls, int directory, int readable) {
  ::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
  const int abi = landlock_abi();
  if (abi > 0) {
    CAY_CHECK(bound_files(directory, readable));
  }
  CAY_CHECK(load_syscall_filter(calls));
  return abi;
}

}  // namespace cay::os
