// DiskStore: the sandboxes' disks as the launcher sees them. The pool is mounted in the launcher's mount
// namespace only; root reaches it through /proc.
#pragma once
#include <string>

#include "base/result.h"
#include "base/unique_fd.h"

namespace cay::app {

struct DiskStore {
  UniqueFd dir;         // DATA/store
  bool pooled = false;  // a btrfs pool: each disk is a subvolume

  // kUnavailable (launcher_not_running) if disks are in a pool and nobody has it mounted.
  static Result<DiskStore> open(const std::string& data);

  // What a killed backup left. Idempotent.
  Result<void> remove_leftovers() const;
  // A descriptor of the disk's tree that nobody writes to, until the returned guard goes. Needs a pool.
  class Frozen {
   public:
    Frozen(int store, std::string name, UniqueFd dir) : store_(store), name_(std::move(name)), dir_(std::move(dir)) {}
    Frozen(Frozen&& other) noexcept
        : store_(other.store_), name_(std::exchange(other.name_, {})), dir_(std::move(other.dir_)) {}
    Frozen& operator=(Frozen&&) = delete;
    ~Frozen();
    int fd() const { return dir_.get(); }

   private:
    int store_;
    std::string name_;
    UniqueFd dir_;
  };
  Result<Frozen> freeze(const std::string& id) const;
};

}  // namespace cay::app
