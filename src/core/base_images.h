// BaseImages: the images that the stages of a build start from: a snapshot that is there, or an
// image that is pulled and becomes one.
#pragma once
#include <optional>
#include <string>

#include "core/imports.h"
#include "core/settings.h"
#include "core/snapshots.h"
#include "model/build_request.h"
#include "policy/catalogue.h"

namespace cay::core {

class BaseImages {
 public:
  BaseImages(SnapshotVerbs& snapshots, const Imports& imports, const Defaults& defaults)
      : snapshots_(snapshots), imports_(imports), defaults_(defaults) {}

  // Returns the snapshot that `reference` names: a local one, or an image. With `confined_to`, only
  // images of registries that this policy reaches count, and no local name: else kPermissionDenied
  // (egress_denied). `request` has the credentials.
  Task<SnapshotInfo> get(Principal who, const BuildRequest& request, std::string reference,
                         std::optional<policy::Choice> confined_to);

 private:
  Result<void> check_reach(const ImageReference& image, const policy::Choice& policy) const;
  Task<std::optional<SnapshotInfo>> here(Principal who, std::string reference, bool by_name);

  SnapshotVerbs& snapshots_;
  const Imports& imports_;
  const Defaults& defaults_;
};

}  // namespace cay::core
