// The snapshot named `default`: a view of the host's system directories that a sandbox can boot,
// made without any network. docs/decisions/0003-default-snapshot.md lists its contents and the
// reasons.
#pragma once
#include <string>

#include "base/result.h"
#include "launcher/config.h"
#include "wire/messages.h"

namespace cay::launcher {

// The name of a snapshot that is being removed begins so. No sandbox can begin on it any more.
inline constexpr const char* kRemovingSnapshot = ".removing-";

struct SnapshotSource {
  std::string host_root = "/";  // tests give another
  wire::PrepareDefault with{};
};

// Returns the ready `default` snapshot of this host's packages under the directory `layers`, or
// makes it: LAYERS/<uuid>/root, and LAYERS/<uuid>/snapshot, which describes it. Made as
// LAYERS/.building-<uuid> and renamed when whole. What a crash left under such a name is removed
// first, and so is the rest of a removal that was cut short (kRemovingSnapshot). One at a time, as
// root. `used_bytes` of the answer is what the tree adds to the disk: links to the host's files add
// nothing. Fails: kExhausted (disk full), kUnsupported (the host has no /usr that can be read),
// kInternal.
Result<wire::SnapshotMsg> build_default_snapshot(const std::string& layers,
                                                 const Progress& progress,
                                                 const SnapshotSource& source = {});

}  // namespace cay::launcher
