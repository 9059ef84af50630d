// Builds: makes snapshots of Dockerfiles. Each RUN is an ordinary sandbox. A layer that was built
// before from the same inputs is not built again.
#pragma once
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "async/task.h"
#include "model/build_request.h"
#include "model/principal.h"
#include "model/snapshot.h"

namespace cay::core {

// A build returns the row at once, which is `building`, and goes on whoever waits for it.
class Builds {
 public:
  virtual ~Builds() = default;
  // `context`: a tar archive, plain or compressed, of the files that COPY reads. It returns once
  // the archive is read. Fails kInvalidArgument (invalid_dockerfile) and kUnsupported
  // (dockerfile_unsupported), whose messages begin with the line, and as Snapshots does.
  virtual Task<SnapshotInfo> build(Principal who, NewSnapshot made, BuildRequest request,
                                   std::unique_ptr<ByteSource> context) = 0;
  // The context is a directory of a running sandbox, whose policy each RUN has. Its Dockerfile is
  // untrusted. It gets images of Docker Hub, of registries that the tenant keeps, and of those that
  // the sandbox's policy reaches. Others are refused (egress_denied).
  virtual Task<SnapshotInfo> build_from_sandbox(Principal who, std::string sandbox,
                                                std::string directory, NewSnapshot made,
                                                BuildRequest request) = 0;
  // Returns the log from `offset` on, once it has more or the build is over, and else as it is when
  // the time is over. Fails kNotFound (build_not_found).
  virtual Task<BuildLog> log(Principal who, std::string ref, std::uint64_t offset,
                             std::chrono::milliseconds most) = 0;
};

}  // namespace cay::core
