// BuildHost: carries out the requests of a build (dockerfile/build.h), by sandboxes.
#pragma once
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/build_caches.h"
#include "core/build_copy.h"
#include "core/build_job.h"
#include "core/image_registries.h"
#include "core/imports.h"
#include "core/layer_tree.h"
#include "core/snapshots.h"

namespace cay::core {

// The parts of the core that all builds share.
struct BuildParts {
  std::shared_ptr<Registry> registry;
  const Runtimes& runtimes;
  LayerTree& layers;
  Imports& imports;
  SnapshotVerbs& snapshots;
  Images* images;  // may be null
  Jobs& jobs;
  const Defaults& defaults;
  BuildCaches& caches;
  const ImageRegistryVerbs& registries;
};

class BuildRun;

class BuildHost {
 public:
  BuildHost(const BuildParts& parts, std::shared_ptr<BuildJob> job)
      : parts_(parts), job_(std::move(job)) {}

  Task<dockerfile::Answer> carry_out(dockerfile::Request request);

  // Writes a layer of these entries alone, which is held until the build ends.
  Task<LayerId> layer_of(std::unique_ptr<LayerSource> entries);
  // Returns a layer without files, for an image that has none.
  Task<LayerId> empty_layer();

 private:
  using Answer = dockerfile::Answer;
  Task<Answer> resolve(dockerfile::ResolveImage request);
  Task<Answer> run(dockerfile::RunCommand request);
  Task<Answer> copy(dockerfile::CopyFiles request);
  Task<Answer> seal(dockerfile::SealLayer request);
  Task<Answer> discard();
  Result<Answer> find(const dockerfile::FindLayer& request);

  std::shared_ptr<Builder> new_builder();
  // Boots a sandbox that writes layers, if none is there, and makes the directories.
  Task<void> open_writer();
  Task<void> make_pending();
  // Returns where to copy from: the context, or a sandbox on that layer.
  Task<BuildCopy::From> source(dockerfile::Source::Kind kind, LayerId layer);
  Task<void> add_mounts(dockerfile::RunCommand request, BootSpec& spec, BuildRun& running);
  Task<void> add_bind(dockerfile::Mount mount, dockerfile::Source::Kind kind, LayerId layer,
                      std::size_t index, BootSpec& spec, BuildRun& running);
  Task<LayerId> seal_as(std::shared_ptr<Builder> from, LayerId below, std::string chain);
  std::string chain_of_key(const std::string& key) const;
  BuildCopy copier() const;

  const BuildParts parts_;
  std::shared_ptr<BuildJob> job_;
  std::shared_ptr<Builder> context_reader_;

  // The sandbox of the present layer.
  LayerId below_;
  std::shared_ptr<Builder> open_;
  bool runs_commands_ = false;
  std::vector<dockerfile::DirectoryStep> pending_;
};

}  // namespace cay::core
