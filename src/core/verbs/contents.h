// Contents: compares, exports and checks the content of disks and snapshots.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "async/bytes.h"
#include "async/task.h"
#include "model/disk_change.h"
#include "model/principal.h"
#include "model/store_finding.h"

namespace cay::core {

// The changes of one disk, in the order of their paths. Destroying it ends the work.
class ChangeSource {
 public:
  virtual ~ChangeSource() = default;
  virtual Task<std::optional<DiskChange>> next() = 0;  // nullopt: the end
};

enum class Repair : std::uint8_t { kNo, kYes };

class Contents {
 public:
  virtual ~Contents() = default;
  // Compares the disk of a sandbox, as it is at this moment, with the snapshot that it stands on. A
  // running sandbox stands still for that moment. A deleted directory is one change. Contents,
  // sizes, kinds, modes, owners and targets of links count. Times and extended attributes alone do
  // not. Fails kUnsupported (no_layers), kNotReady (sandbox_not_ready).
  virtual Task<std::unique_ptr<ChangeSource>> changes(Principal who, std::string sandbox) = 0;

  // Returns the snapshot as an OCI archive, which other programs and create_from_archive() read.
  // Fails as Snapshots::push().
  virtual Task<std::unique_ptr<ByteSource>> export_archive(Principal who, std::string ref) = 0;

  // Compares the rows of snapshots, layers and sandboxes with the store. A repair removes what
  // nobody needs, and marks snapshots that cannot boot as failed.
  virtual Task<StoreReport> check(Principal who, Repair repair) = 0;
};

}  // namespace cay::core
