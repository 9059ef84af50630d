// These structs are requests about snapshots. They have the source, the name, or the destination of
// a snapshot.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/snapshot.h"

namespace cay {

// The credentials for a registry. Empty: none.
struct RegistryLogin {
  std::string username{};
  std::string password{};        // or an access token, with any user name
  std::string identity_token{};  // instead: of `docker login`
  bool operator==(const RegistryLogin&) const = default;
};

// An image in a registry.
struct ImageSource {
  std::string reference;   // "python:3.12", "localhost:5000/x@sha256:..."
  std::string platform{};  // "linux/amd64"; empty: this host's
  RegistryLogin login{};
  // Name or id of a registry whose login is used instead. A reference that names no registry is
  // one of this.
  std::string registry{};
  bool operator==(const ImageSource&) const = default;
};

// A snapshot to be made.
struct NewSnapshot {
  std::string name{};  // empty: the image's; needed for an archive and a capture
  std::string tag{};   // empty: the image's, else "latest"
  // Replaces the configuration of the image or of the captured sandbox's snapshot.
  std::optional<ImageConfig> config{};
  RunConfig run{};                              // above the configuration's: see layered()
  std::map<std::string, std::string> labels{};  // above the configuration's
  std::uint64_t disk_bytes = 0;  // the disk limit of its sandboxes, if they name none; 0: none
  bool built = false;            // of a capture: it ends a build, and its origin is kFromBuild
  bool operator==(const NewSnapshot&) const = default;
};

// PushState::state.
inline constexpr std::string_view kPushing = "pushing";
inline constexpr std::string_view kPushed = "pushed";
inline constexpr std::string_view kPushFailed = "failed";

// The newest push of a snapshot since the daemon started.
struct PushState {
  SnapshotId snapshot;
  std::string reference;
  std::string state;      // one of the above
  std::string message{};  // how far it is, or why it failed
  std::string digest{};   // of the manifest, once it is pushed
  bool operator==(const PushState&) const = default;
};

// Copies of a sandbox with its disk. Each is a sandbox of its own, and all begin at one moment.
struct ForkRequest {
  std::vector<std::string> names{};  // of each copy; empty: `count` copies with names made up
  std::uint32_t count = 1;
  std::map<std::string, std::string> labels{};  // above the source's
  SandboxNotes notes{};                         // of the copies, which have none of the source's
  bool operator==(const ForkRequest&) const = default;
};

// An image's reference in its parts: "localhost:5000/team/app:1.0@sha256:...".
struct ImageReference {
  std::string registry;    // "docker.io" if the text names none
  std::string repository;  // "library/python"
  std::string tag{};
  std::string digest{};
  // The normal form: two texts name one image if this is equal. Without tag and digest it is
  // `latest`.
  std::string text() const;
  // The name that a snapshot of it has if the request names none: "python", "ghcr.io/team/app". A
  // registry's port goes after a '-'.
  std::string snapshot_name() const;
};
// nullopt: it is none. The process that fetches images is the one that has to be convinced.
std::optional<ImageReference> image_reference_from(std::string_view text);

// Names of snapshots: 1 to 128 of [A-Za-z0-9._/-], which begin and end with a letter or digit.
bool is_valid_snapshot_name(std::string_view text);
// Tags: 1 to 128 of [A-Za-z0-9._-], which begin with a letter, a digit or '_'.
bool is_valid_tag(std::string_view text);

// The tag of snapshots whose request and image name none.
inline constexpr std::string_view kLatestTag = "latest";

}  // namespace cay
