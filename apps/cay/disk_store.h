// DiskStore: the sandboxes' disks as the launcher sees them. The pool is mounted in the launcher's
// mount namespace only; root reaches it through /proc.
#pragma once
#include <string>
#include <utility>

#include "base/result.h"
#include "base/unique_fd.h"

namespace cay::app {

struct DiskStore {
  UniqueFd dir;         // DATA/store
  bool pooled = false;  // a btrfs pool: each disk is a subvolume

  // kUnavailable (launcher_not_running) if disks are in a pool and nobody has it mounted.
  static Result<DiskStore> open(const std::string& data);

  // Removes the disks that a killed backup left. Idempotent.
  Result<void> remove_leftovers() const;
  // For one backup at a time: they go by the same names. kConflict (backup_runs).
  Result<void> lock() const;
  // The disk as of now, until the returned guard goes. Needs a pool.
  class Frozen {
   public:
    Frozen(int store, std::string name) : store_(store), name_(std::move(name)) {}
    Frozen(Frozen&& other) noexcept : store_(other.store_), name_(std::exchange(other.name_, {})) {}
    Frozen& operator=(Frozen&&) = delete;
    ~Frozen();
    // Its tree. The descriptor must be gone before the guard.
    Result<UniqueFd> open() const;

   private:
    int store_;
    std::string name_;
  };
  // `name`: the disk's in the store.
  Result<Frozen> freeze(const std::string& name) const;
};

}  // namespace cay::app
