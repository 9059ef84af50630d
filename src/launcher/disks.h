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

// The source of a new disk's first files. The disk is empty if neither is given.
struct DiskOrigin {
  std::string layer;    // the nearest layer below it that lies in the pool
  std::string sandbox;  // whose disk is copied
  bool copies() const { return !layer.empty() || !sandbox.empty(); }
};

// The names of layers and volumes in the store, beside the disks, which have sandboxes' ids.
inline constexpr const char* kLayerInStore = "layer-";
inline constexpr const char* kVolumeInStore = "volume-";
// A directory in which a disk is being made from another one.
inline constexpr const char* kMakingInStore = "making-";
// A disk on a layer that no sandbox has yet (spare_disks.h).
inline constexpr const char* kSpareInStore = "spare-";
inline constexpr int kSparesOfLayer = 4;  // at most

// Makes the disk `name` for files that a restore brings. Its new files get inode numbers above
// those of the subvolume `origin`, a disk with the layer's files (see Disks::make). Empty: there is
// none.
Result<void> make_disk_above(int store, const std::string& name, const std::string& origin,
                             const std::string& layer);

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
  //
  // With an origin it takes a snapshot, which may take seconds. The disk appears whole or not at
  // all. A disk on layers of the pool begins as a snapshot of the nearest one, and the layer's
  // files are set aside. So new files get inode numbers above those of all layers below.
  //
  // The reason: overlayfs shows the inode numbers of all subvolumes as those of one device. Two
  // files with one number would be the same file to cp, diff and the dynamic loader.
  Result<void> make(const std::string& id, std::uint64_t bytes, const DiskOrigin& origin = {});
  // Makes the spare disk of that number (below kSparesOfLayer). Takes as long as make().
  Result<void> make_spare(const std::string& layer, int number);
  // Returns the numbers of the spares that the layer lacks.
  std::vector<int> missing_spares(const std::string& layer) const;
  // Makes the disk of a spare on that layer. False: there is none.
  Result<bool> take_spare(const std::string& id, std::uint64_t bytes, const std::string& layer);
  // Removes all spares of the layer. Idempotent.
  Result<void> remove_spares(const std::string& layer) const;
  // Removes what a copy that was cut short left under that name of the store. Idempotent.
  Result<void> remove_half_made(const std::string& name) const;
  // kUnsupported (no_layers), with the remedy, where there is no pool.
  Result<void> need_pool() const;
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
  Result<void> copy(const std::string& id, const DiskOrigin& origin);

  UniqueFd store_;
  bool pooled_ = false;
  std::string enforced_by_, why_plain_;
};

}  // namespace cay::launcher
