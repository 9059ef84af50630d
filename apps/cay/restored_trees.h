// RestoredTrees: the disks, layers and volumes that a restore makes in the store.
//
// A layer comes in under a name of its own. It is sealed once all of it is there and its digest is
// that of the backup.
#pragma once
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "disk_store.h"
#include "store/backup.h"

namespace cay::app {

Error not_a_backup(const std::string& why);

// Makes the directory `name` and opens it.
Result<UniqueFd> make_plain_directory(int parent, const std::string& name);

class RestoredTrees {
 public:
  // `data`: the open data directory. Both outlive this.
  RestoredTrees(int data, const DiskStore& disks) : data_(data), disks_(disks) {}

  // Each returns the directory that its entries go to. A layer and a disk are made after the layers
  // below them. Layers and volumes fail kUnsupported (no_layers) where there is no pool.
  Result<UniqueFd> make_disk(const std::string& id, const std::string& layer);
  Result<UniqueFd> make_layer(const std::string& id);
  Result<UniqueFd> make_volume(const std::string& id);

  // Compares what was written with the digests of the backup, a JSON object. Fails kInvalidArgument
  // (not_a_backup).
  Result<void> check(const std::string& digests) const;
  // Once all is written.
  Result<void> seal_layers() const;
  Result<void> limit_volumes(const std::vector<store::StoredVolume>& volumes) const;

  const std::set<std::string>& layers() const { return layers_; }

 private:
  Result<void> need_pool() const;
  // Makes a disk whose files get inode numbers above those of the nearest layer in `stack`.
  Result<void> make_above(const std::string& name, const std::vector<std::string>& stack) const;
  Result<UniqueFd> open_tree(const std::string& name) const;

  int data_;
  const DiskStore& disks_;
  std::set<std::string> layers_;
};

}  // namespace cay::app
