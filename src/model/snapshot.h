// A sandbox starts from a snapshot, which is a stack of sealed layers with the configuration of its
// programs.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "model/ids.h"
#include "model/run_config.h"
#include "model/sandbox.h"

namespace cay {

// The image's configuration: how programs run on a snapshot.
struct ImageConfig {
  RunConfig run;
  std::vector<std::string> entrypoint{};
  std::vector<std::string> command{};  // the arguments that a caller's own replace
  std::map<std::string, std::string> labels{};
  std::vector<std::string> ports{};  // "8080/tcp"
  bool operator==(const ImageConfig&) const = default;
};

// SnapshotInfo::status.
inline constexpr std::string_view kSnapshotBuilding = "building";
inline constexpr std::string_view kSnapshotReady = "ready";
inline constexpr std::string_view kSnapshotFailed = "failed";      // see status_message
inline constexpr std::string_view kSnapshotDeleting = "deleting";  // going; will be gone

// SnapshotInfo::origin: where a snapshot came from.
inline constexpr std::string_view kFromHost = "host";        // the host's own /usr
inline constexpr std::string_view kFromRegistry = "image";   // pulled: image_name and digest
inline constexpr std::string_view kFromArchive = "archive";  // an OCI, docker save or root tar file
inline constexpr std::string_view kFromSandbox = "capture";  // source_sandbox
inline constexpr std::string_view kFromBuild = "build";      // a Dockerfile, or Debian packages

struct SnapshotInfo {
  SnapshotId id;
  std::string name;
  std::string status;            // one of the above
  std::string fingerprint;       // of the host's packages, for `default`
  std::uint64_t used_bytes = 0;  // of all its layers
  UnixMillis created_at = 0;
  std::string runtime{kNativeRuntime};  // the runtime that made it, and alone can boot it

  TenantId tenant{};            // empty: the host's, for all tenants
  LayerId layer{};              // the top one; empty while it is being built
  std::uint64_t own_bytes = 0;  // of the layers that no other snapshot has
  std::string origin{kFromHost};
  std::string image_name{};      // as the pull named it: "python:3.12"
  std::string digest{};          // of the image's manifest: "sha256:..."
  std::string registry{};        // id of the kept registry whose login the pull used
  std::string status_message{};  // why it failed, or how far it is
  SandboxId source_sandbox{};    // of a capture
  ImageConfig config{};
  std::vector<std::string> tags{};  // of this name, that point to it now
  std::uint64_t disk_bytes = 0;     // the disk limit of its sandboxes, if they name none; 0: none
  std::string created_by{};         // name of the key
  UnixMillis updated_at = 0;
};

// A sealed layer, as core keeps it. Layers form trees: each stands on one other, or on none.
struct LayerRow {
  LayerId id;
  LayerId below{};      // empty: the lowest
  std::string chain{};  // names the content of the whole stack, for images: "sha256:..."; empty:
                        // of a capture
  std::uint64_t bytes = 0;  // its own
  UnixMillis created_at = 0;
  UnixMillis used_at = 0;  // when a build last used it; 0: it is of no build
};

}  // namespace cay
