// The verbs of Snapshots list, make, tag, push and remove the snapshots that sandboxes start from.
// `ref` is an id, a name or name:tag.
//
// A bare name means name:latest, and else the newest ready one of that name without a tag. A tag
// moves to a new snapshot once that is ready. A tenant sees its own snapshots and the host's.
#pragma once
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "async/task.h"
#include "model/principal.h"
#include "model/snapshot.h"
#include "model/snapshot_request.h"

namespace cay::core {

class Contents;

// Long work returns the row at once, and goes on whoever waits for it. Such a row is `building`,
// and its status_message has the progress. It becomes `ready` or `failed`.
class Snapshots {
 public:
  virtual ~Snapshots() = default;
  // The verbs on the content of disks and snapshots: core/verbs/contents.h.
  virtual Contents& contents() = 0;
  // The one that `default` means comes first, and then the newest.
  virtual Task<std::vector<SnapshotInfo>> list(Principal who) = 0;
  // Fails kNotFound (snapshot_not_found).
  virtual Task<SnapshotInfo> get(Principal who, std::string ref) = 0;
  // Returns the row once it is no more `building`, or as it is when the time is over.
  virtual Task<SnapshotInfo> wait(Principal who, SnapshotId id, std::chrono::milliseconds most) = 0;

  // Pulls an image. An operator's registry may lie in a special network. Fails kUnsupported
  // (images_unsupported), kInvalidArgument (bad_reference, invalid_name, invalid_tag,
  // registry_mismatch), kNotFound (registry_not_found).
  virtual Task<SnapshotInfo> create_from_image(Principal who, NewSnapshot made,
                                               ImageSource source) = 0;
  // Returns once the archive is read. Fails as create_from_image(), and as the archive's bytes.
  virtual Task<SnapshotInfo> create_from_archive(Principal who, NewSnapshot made,
                                                 std::unique_ptr<ByteSource> archive) = 0;
  // Captures the disk of a sandbox as it is at this moment. Running programs stand still meanwhile.
  // The memory of its processes, and what lies in memory file systems, is not captured.
  virtual Task<SnapshotInfo> capture(Principal who, std::string sandbox, NewSnapshot made) = 0;
  // Its sandboxes keep working. One that is being built is given up. Fails kConflict
  // (default_snapshot), kPermissionDenied (host_snapshot).
  virtual Task<void> remove(Principal who, std::string ref) = 0;
  // Moves the tag of that name to this snapshot. Fails kNotReady (snapshot_not_ready).
  virtual Task<SnapshotInfo> tag(Principal who, std::string ref, std::string tag) = 0;
  // Pushes it to a registry, as an image that any other program can run.
  virtual Task<PushState> push(Principal who, std::string ref, std::string reference,
                               RegistryLogin login) = 0;
  // Returns the newest push once it is over, or as it is when the time is over. Fails kNotFound
  // (push_not_found).
  virtual Task<PushState> pushed(Principal who, std::string ref,
                                 std::chrono::milliseconds most) = 0;
};

}  // namespace cay::core
