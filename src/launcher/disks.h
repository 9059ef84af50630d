// Disks: the writable layer of each sandbox. In a btrfs pool file (a subvolume with a limit of its
// own), or, where that cannot be had, plain directories that nothing limits. Either way DATA/store
// is mode 0700: a guest's setuid file lies in it as host root's.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "launcher/config.h"

namespace cay::launcher {

class Disks {
 public:
  // `data_dir` is DATA. Mounts the pool at DATA/store in the caller's mount namespace, and makes it
  // first if there is none. Uses plain directories only where no pool can be *made*. A pool that
  // exists and does not mount is an error, for it holds people's files.
  static Result<Disks> open(int data_dir, const Config& config);

  bool exists(const std::string& id) const;
  // Makes the disk unless it exists. Its limit is a little higher than `bytes` until limit() is
  // called: overlayfs makes a directory when it is mounted, and mounts a full disk read-only if it
  // cannot.
  Result<void> make(const std::string& id, std::uint64_t bytes);
  // Sets the limit that the guest has.
  Result<void> limit(const std::string& id, std::uint64_t bytes) const;
  // A detached mount of the disk (upper/ and work/ inside).
  Result<UniqueFd> mount(const std::string& id) const;
  // Idempotent. A plain directory may take long (removal_is_quick() == false).
  Result<void> remove(const std::string& id);
  bool removal_is_quick() const { return pooled_; }
  Result<std::vector<std::string>> ids() const;

  const std::string& enforced_by() const {
    return enforced_by_;
  }  // "btrfs qgroup", or empty: nothing
  const std::string& why_plain() const {
    return why_plain_;
  }  // why there is no pool; empty if there is
  int store() const { return store_.get(); }

 private:
  UniqueFd store_;
  bool pooled_ = false;
  std::string enforced_by_, why_plain_;
};

}  // namespace cay::launcher
