// ContentVerbs: core::Contents over the store, the layers and the image process.
#pragma once
#include <memory>
#include <string>
#include <utility>

#include "core/diffs.h"
#include "core/fsck.h"
#include "core/imports.h"
#include "core/snapshots.h"
#include "core/verbs/contents.h"

namespace cay::core {

class ContentVerbs : public Contents {
 public:
  ContentVerbs(std::shared_ptr<Registry> registry, const Runtimes& runtimes, LayerTree& layers,
               Imports& imports, Captures& captures, SnapshotVerbs& snapshots, Jobs& jobs)
      : registry_(registry),
        runtimes_(runtimes),
        layers_(layers),
        imports_(imports),
        snapshots_(snapshots),
        jobs_(jobs),
        diffs_(runtimes, layers, captures, jobs),
        fsck_(std::move(registry), runtimes, layers) {}

  Task<std::unique_ptr<ChangeSource>> changes(Principal who, std::string sandbox) override;
  Task<std::unique_ptr<ByteSource>> export_archive(Principal who, std::string ref) override;
  Task<StoreReport> check(Principal who, Repair repair) override;
  void stop() { diffs_.stop(); }  // the daemon ends

 private:
  Task<std::unique_ptr<ByteSource>> export_job(SnapshotInfo snapshot);

  std::shared_ptr<Registry> registry_;
  const Runtimes& runtimes_;
  LayerTree& layers_;
  Imports& imports_;
  SnapshotVerbs& snapshots_;
  Jobs& jobs_;
  Diffs diffs_;
  Fsck fsck_;
};

}  // namespace cay::core
