// Imports: makes snapshots from images. A builder writes each layer that is not there yet, and it
// is sealed. Layers of equal content are made once, also if two imports run at once.
#pragma once
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/builder.h"
#include "core/layer_tree.h"
#include "core/long_work.h"
#include "core/ports/images.h"
#include "core/settings.h"
#include "model/snapshot_request.h"

namespace cay::core {

struct Import : LongWork {
  Import(asio::any_io_executor loop, SnapshotInfo first, NewSnapshot wanted)
      : LongWork(std::move(loop)), row(std::move(first)), made(std::move(wanted)) {}

  SnapshotInfo row;
  const NewSnapshot made;
  std::optional<Error> failure;  // once it is done
  std::string note{};            // OpenImage::note(), for the ready snapshot
  std::shared_ptr<Builder> builder{};
  std::vector<Grant> holds{};  // of the layers so far
};

class Imports {
  using BuiltNow = std::map<std::string, std::shared_ptr<Event>>;

 public:
  // `images` may be null.
  Imports(std::shared_ptr<Registry> registry, const Runtimes& runtimes, LayerTree& layers,
          Images* images, Jobs& jobs, const Defaults& defaults)
      : registry_(std::move(registry)),
        runtimes_(runtimes),
        layers_(layers),
        images_(images),
        jobs_(jobs),
        defaults_(defaults) {}

  DiskRoom disk() const { return runtimes_.first().disk; }
  // Fails images_unsupported, no_layers.
  Result<Images*> images() const;

  // Begin to make the snapshot of this row, which is `building` and stored. The tag is of `made`,
  // else of the image.
  std::shared_ptr<Import> pull(SnapshotInfo row, NewSnapshot made, PullRequest request);
  std::shared_ptr<Import> unpack(SnapshotInfo row, NewSnapshot made,
                                 std::unique_ptr<OpenImage> image);

  // Null: none is under way.
  std::shared_ptr<Import> of(const SnapshotId& id) const;
  // One of a tenant that pulls this image (ImageReference::text()).
  std::shared_ptr<Import> pulling(const TenantId& tenant, const std::string& reference) const;
  // The daemon ends. Rows stay `building`: the next daemon fails them.
  void stop();

 private:
  Task<void> job(std::shared_ptr<Import> import, PullRequest request,
                 std::shared_ptr<OpenImage> image);
  Task<LayerId> attempt(std::shared_ptr<Import> import, PullRequest request,
                        std::shared_ptr<OpenImage> image);
  Task<LayerId> layer(std::shared_ptr<Import> import, std::shared_ptr<OpenImage> image,
                      std::size_t index, std::string chain, LayerId below);
  Task<LayerId> build(std::shared_ptr<Import> import, std::shared_ptr<OpenImage> image,
                      std::size_t index, std::string chain, LayerId below);
  void settle(Import& import, Result<LayerId> top);
  std::shared_ptr<Import> begin(SnapshotInfo row, NewSnapshot made);

  std::shared_ptr<Registry> registry_;
  const Runtimes& runtimes_;
  LayerTree& layers_;
  Images* const images_;
  Jobs& jobs_;
  const Defaults& defaults_;
  std::map<SnapshotId, std::shared_ptr<Import>> under_way_;
  // By chain. Frames of work that is dropped with the loop share it.
  std::shared_ptr<BuiltNow> building_ = std::make_shared<BuiltNow>();
};

}  // namespace cay::core
