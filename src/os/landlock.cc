#include "os/landlock.h"

#include <linux/landlock.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace cay::os {
namespace {

// Newer than the headers of Debian 12 (include/uapi/linux/landlock.h).
constexpr std::uint64_t kTruncate = 1ULL << 14, kIoctlOfDevices = 1ULL << 15;
constexpr std::uint64_t kListen = 1ULL << 0;                                 // of the network
constexpr std::uint64_t kAbstractSockets = 1ULL << 0, kSignals = 1ULL << 1;  // scopes
struct Attributes {
  std::uint64_t files = 0, network = 0, scoped = 0;
};

// By version: what it was the first to know.
Attributes known_to(int abi) {
  Attributes out;
  out.files = (LANDLOCK_ACCESS_FS_MAKE_SYM << 1) - 1;
  if (abi >= 2) out.files |= LANDLOCK_ACCESS_FS_REFER;
  if (abi >= 3) out.files |= kTruncate;
  if (abi >= 4) out.network = kListen;
  if (abi >= 5) out.files |= kIoctlOfDevices;
  if (abi >= 6) out.scoped = kAbstractSockets | kSignals;
  return out;
}

// An older kernel takes a shorter structure.
std::size_t size_for(int abi) {
  return abi >= 6   ? sizeof(Attributes)
         : abi >= 4 ? 2 * sizeof(std::uint64_t)
                    : sizeof(std::uint64_t);
}

constexpr std::uint64_t kReading = LANDLOCK_ACCESS_FS_READ_FILE;
constexpr std::uint64_t kKeeping = kReading | LANDLOCK_ACCESS_FS_READ_DIR |
                                   LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_FILE |
                                   LANDLOCK_ACCESS_FS_MAKE_REG | kTruncate;

}  // namespace

int landlock_abi() {
  const long abi =
      ::syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION);
  return abi > 0 ? static_cast<int>(abi) : 0;
}

Result<Landlock> Landlock::begin() {
  const int abi = landlock_abi();
  const Attributes attributes = known_to(abi);
  UniqueFd rules(
      static_cast<int>(::syscall(SYS_landlock_create_ruleset, &attributes, size_for(abi), 0)));
  if (!rules) return Error::from_errno(errno, "begin with Landlock");
  return Landlock(std::move(rules), attributes.files);
}

Result<void> Landlock::allow(int directory, std::uint64_t access) {
  const landlock_path_beneath_attr rule{access & handled_, directory};
  if (::syscall(SYS_landlock_add_rule, rules_.get(), LANDLOCK_RULE_PATH_BENEATH, &rule, 0) != 0)
    return Error::from_errno(errno, "allow a directory");
  return {};
}

Result<void> Landlock::allow_reading(int directory) { return allow(directory, kReading); }
Result<void> Landlock::allow_keeping_files(int directory) { return allow(directory, kKeeping); }

Result<void> Landlock::enforce() {
  if (::syscall(SYS_landlock_restrict_self, rules_.get(), 0) != 0)
    return Error::from_errno(errno, "enforce Landlock");
  return {};
}

}  // namespace cay::os
