// BuildCopy: carries out COPY, ADD and WORKDIR in a sandbox. Nothing in the image runs for it.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "core/build_job.h"
#include "core/copied_layer.h"
#include "core/ports/images.h"

namespace cay::core {

class BuildCopy {
 public:
  // `images` unpacks archives, and may be null. `now`: the time of what is made.
  BuildCopy(Images* images, UnixMillis now) : images_(images), now_ns_(now * 1'000'000) {}

  // A tree that files are copied from.
  struct From {
    std::shared_ptr<LiveSandbox> live;
    std::string root;                       // the directory in it: "/" or a mount
    const BuildContext* context = nullptr;  // of a context: its files
  };
  // Writes the files of the step to the root of `to`.
  Task<void> copy(dockerfile::CopyStep step, From from, std::shared_ptr<LiveSandbox> to);
  // Makes the directories that are missing.
  Task<void> make(std::vector<dockerfile::DirectoryStep> steps, std::shared_ptr<LiveSandbox> in);

 private:
  using Sources = std::vector<BuildContext::Found>;
  Task<Sources> sources(const dockerfile::CopyStep& step, const From& from) const;
  Task<Sources> walk(std::string pattern, From from) const;
  Task<FileOwner> owner_of(std::string user, std::shared_ptr<LiveSandbox> in) const;
  // Adds the directories of the path that are missing. Returns whether the path is a directory
  // that was there.
  Task<bool> add_directories(std::string path, FileOwner owner, std::shared_ptr<LiveSandbox> in,
                             std::vector<CopyPart>& parts) const;
  Task<std::shared_ptr<LayerSource>> unpacked(std::string path, From from);

  Images* const images_;
  const std::int64_t now_ns_;
  std::vector<std::unique_ptr<OpenImage>> archives_{};  // of the present step
};

}  // namespace cay::core
