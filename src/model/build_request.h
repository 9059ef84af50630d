// BuildRequest: a Dockerfile that is to become a snapshot.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "model/ids.h"
#include "model/snapshot_request.h"

namespace cay {

struct BuildRequest {
  std::string dockerfile;                          // its text
  std::string target{};                            // a stage by name or number; empty: the last one
  std::map<std::string, std::string> arguments{};  // --build-arg
  // RUN --mount=type=secret: values by id. They are in no layer, no key of a layer and no log.
  std::map<std::string, std::string> secrets{};
  // The way out of each RUN, as SandboxSpec::policy. Empty: as a sandbox that names none.
  std::string policy{};
  bool no_cache = false;  // builds each layer anew
  bool pull = false;      // base images are fetched again, also if they are here
  // Credentials for base images, by registry host.
  std::map<std::string, RegistryLogin> logins{};
  std::string platform{};  // empty: this host's, the only one that it builds for
};

// The log of a build since the daemon started.
struct BuildLog {
  SnapshotId snapshot;
  std::string state;       // SnapshotInfo::status
  std::uint64_t from = 0;  // offset of the first byte of `text`; what lies before was dropped
  std::string text{};      // plain lines: steps, notes, and the output of RUN
  std::uint64_t end = 0;   // offset after `text`: where the next answer goes on
  std::string message{};   // why it failed
  std::string reason{};    // Error::reason of that: build_failed is the Dockerfile's own failure
};

}  // namespace cay
