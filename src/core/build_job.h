// BuildJob: a build under way, and what its parts share.
#pragma once
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/build_context.h"
#include "core/build_output.h"
#include "core/builder.h"
#include "core/long_work.h"
#include "dockerfile/build.h"
#include "model/build_request.h"
#include "model/principal.h"
#include "model/sandbox.h"
#include "model/snapshot_request.h"

namespace cay::core {

struct BuildJob : LongWork {
  BuildJob(asio::any_io_executor loop, Principal by, SnapshotInfo first, NewSnapshot wanted,
           BuildRequest asked, dockerfile::Build steps);

  const Principal who;
  SnapshotInfo row;
  const NewSnapshot made;
  BuildRequest request;  // its secrets are wiped at the end
  dockerfile::Build build;
  SandboxSpec run;  // of each RUN: limits, policy and profile, as they were checked
  bool network_required = false;
  // The policy of the sandbox that the context comes from: no base image comes from elsewhere.
  std::optional<policy::Choice> confined_to{};

  BuildContext context{};
  LayerId context_layer{};  // empty: there is no context
  std::shared_ptr<BuildOutput> log;
  std::vector<Grant> holds{};  // of layers
  // All that it booted, for the end of the job. Destroyed ones boot nothing and are harmless.
  std::vector<std::shared_ptr<Builder>> builders{};
};

}  // namespace cay::core
