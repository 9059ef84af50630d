// BuildVerbs: core::Builds. A build is a job, whose log lies in memory.
#pragma once
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "core/build_host.h"
#include "core/builds_under_way.h"
#include "core/verbs/builds.h"

namespace cay::core {

class BuildVerbs : public Builds {
 public:
  BuildVerbs(BuildParts parts, BuildsUnderWay& under_way)
      : parts_(std::move(parts)), under_way_(under_way) {}

  Task<SnapshotInfo> build(Principal who, NewSnapshot made, BuildRequest request,
                           std::unique_ptr<ByteSource> context) override;
  Task<SnapshotInfo> build_from_sandbox(Principal who, std::string sandbox, std::string directory,
                                        NewSnapshot made, BuildRequest request) override;
  Task<BuildLog> log(Principal who, std::string ref, std::uint64_t offset,
                     std::chrono::milliseconds most) override;
  // The daemon ends. Rows stay `building`: the next daemon fails them.
  void stop();

 private:
  // The origin of the context's entries.
  struct ContextSource {
    std::shared_ptr<OpenImage> archive{};    // this, or
    std::shared_ptr<LiveSandbox> sandbox{};  // this with
    std::string directory{};                 // and
    std::optional<dockerfile::IgnoreList> ignored{};
  };
  Result<std::shared_ptr<BuildJob>> new_job(Principal who, NewSnapshot made, BuildRequest request);
  Result<SnapshotInfo> begin(const std::shared_ptr<BuildJob>& job, ContextSource context);
  Task<void> run_job(std::shared_ptr<BuildJob> job, ContextSource context);
  Task<dockerfile::Finished> attempt(std::shared_ptr<BuildJob> job, ContextSource context);
  Task<void> read_context(std::shared_ptr<BuildJob> job, BuildHost& host, ContextSource context);
  void settle(BuildJob& job, Result<dockerfile::Finished> end);
  void keep_log(const BuildJob& job);

  const BuildParts parts_;
  BuildsUnderWay& under_way_;
  std::map<SnapshotId, std::shared_ptr<BuildOutput>> logs_;
  std::deque<SnapshotId> log_order_;  // the oldest first
};

}  // namespace cay::core
