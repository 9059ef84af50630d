// BuildRun executes a RUN step of a Dockerfile. It prepares the mounts and secrets of the step's
// sandbox, and runs the program. The build's log gets the output.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "core/build_job.h"
#include "core/copied_layer.h"

namespace cay::core {

class BuildRun {
 public:
  BuildRun(std::shared_ptr<BuildJob> job, dockerfile::RunStep step)
      : job_(std::move(job)), step_(std::move(step)) {}

  // Returns what a sandbox for the step boots with, but for binds and caches. Fails
  // dockerfile_unsupported and, without a secret that it needs, build_failed.
  Result<BootSpec> spec(const LayerId& layer) const;
  // Shows a file at a path for the time of the step: a link to `real`, which lies in memory or in
  // a mount. Fails dockerfile_unsupported if the image has a file there.
  void link(std::string path, std::string real) {
    links_.emplace_back(std::move(path), std::move(real));
  }
  // Gives a mounted cache the owner and mode that the step names, if it names any.
  Task<void> own(dockerfile::Mount mount, std::shared_ptr<LiveSandbox> live);
  // Runs the program. Fails build_failed if it does not end with 0, and otherwise as Cay failed.
  Task<void> run(std::shared_ptr<LiveSandbox> live);

 private:
  Task<void> prepare(std::shared_ptr<LiveSandbox> live, CommandSpec& spec);
  Task<void> write_secret(dockerfile::Mount mount, std::size_t index,
                          std::shared_ptr<LiveSandbox> live, CommandSpec& spec);
  Task<void> link_all(std::shared_ptr<LiveSandbox> live);
  Task<void> unlink_all(std::shared_ptr<LiveSandbox> live) const;
  Result<void> judged(const CommandEnd& end) const;
  std::string name() const;

  std::shared_ptr<BuildJob> job_;
  dockerfile::RunStep step_;
  std::vector<std::pair<std::string, std::string>> links_{};  // path, and what it leads to
};

}  // namespace cay::core
