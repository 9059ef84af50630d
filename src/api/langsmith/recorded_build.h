// The image that a program inside a sandbox built, as the capture of it names it (protocol
// reference, section 7, "Dockerfile snapshots"). The default snapshot's buildctl builds nothing: it
// records what is to be built (src/launcher/default_snapshot_build.cc). Here the record becomes a
// request for a build.
#pragma once
#include <string>

#include "api/langsmith/config.h"
#include "model/build_request.h"

namespace cay::api::langsmith {

struct RecordedBuild {
  std::string context;  // a directory of the sandbox
  BuildRequest request;
};

// Reads the record of an image, and its Dockerfile. Both are untrusted. Fails kInvalidArgument
// (image_not_built, bad_build_record).
Task<RecordedBuild> recorded_build(core::Cay& cay, Principal who, std::string sandbox,
                                   std::string image);

}  // namespace cay::api::langsmith
