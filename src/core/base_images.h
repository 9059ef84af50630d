// BaseImages: the images that the stages of a build start from: a snapshot that is there, or an
// image that is pulled and becomes one.
#pragma once
#include <optional>
#include <string>

#include "core/image_registries.h"
#include "core/imports.h"
#include "core/settings.h"
#include "core/snapshots.h"
#include "model/build_request.h"
#include "policy/catalogue.h"

namespace cay::core {

class BaseImages {
 public:
  BaseImages(SnapshotVerbs& snapshots, const Imports& imports, const ImageRegistryVerbs& registries,
             const Defaults& defaults)
      : snapshots_(snapshots), imports_(imports), registries_(registries), defaults_(defaults) {}

  // Returns the snapshot that `reference` names: a local one, or an image. The credentials are
  // those of `request`, else those that the tenant keeps for that registry.
  //
  // With `confined_to` no local name counts, and the registry is Docker Hub, one that the tenant
  // keeps, or one that this policy reaches. Else it fails kPermissionDenied (egress_denied): a name
  // at a host of the writer's choice would carry out what is in it.
  Task<SnapshotInfo> get(Principal who, const BuildRequest& request, std::string reference,
                         std::optional<policy::Choice> confined_to);

 private:
  Result<void> check_reach(const ImageReference& image, const policy::Choice& policy) const;
  Task<std::optional<SnapshotInfo>> here(Principal who, std::string reference, bool by_name);

  SnapshotVerbs& snapshots_;
  const Imports& imports_;
  const ImageRegistryVerbs& registries_;
  const Defaults& defaults_;
};

}  // namespace cay::core
