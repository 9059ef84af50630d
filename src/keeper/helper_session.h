// HelperSession: what a file helper got when it entered the sandbox, and whether one that entered
// now would get the same. A helper that waits for another operation may go on only then.
#pragma once
#include <sys/resource.h>
#include <sys/stat.h>

#include <array>
#include <cstdint>
#include <string>

namespace cay::keeper {

class HelperSession {
 public:
  // `user`: as resolve_user() takes it.
  explicit HelperSession(std::string user);

  // False if /etc/passwd or /etc/group give the user other ids now. The same if something was
  // mounted over the root, or if somebody inside changed this process's limits.
  bool holds() const;
  // Whether the work so far left it with more memory than may wait.
  bool is_large() const;

 private:
  struct Root {
    std::uint64_t device = 0, inode = 0, mount = 0;
    bool operator==(const Root&) const = default;
    static Root now();
  };
  struct Limits {
    std::array<rlim_t, 5> soft{};
    bool operator==(const Limits&) const = default;
    static Limits now();
  };
  bool is_same_user() const;

  std::string user_;
  Root root_;
  Limits limits_;
  long memory_kib_;
};

}  // namespace cay::keeper
