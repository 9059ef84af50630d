// KeeperFileChanges: the LiveFileChanges role over a keeper's connection.
#pragma once
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/ports/live_sandbox.h"
#include "runtime/keeper/persistent_link.h"

namespace cay::runtime {

class KeeperFileChanges : public virtual core::LiveFileChanges {
 public:
  explicit KeeperFileChanges(std::shared_ptr<PersistentLink> line) : line_(std::move(line)) {}

  Task<ChangeCount> set_mode(std::string path, FileAs as, TreeMode mode) override;
  Task<ChangeCount> set_owner(std::string path, FileAs as, TreeOwner owner) override;
  Task<ChangeCount> copy(CopyRequest request, FileAs as) override;
  Task<ChangeCount> move(CopyRequest request, FileAs as) override;
  Task<ReplaceResult> replace(ReplaceRequest request, FileAs as) override;
  Task<FileInfo> describe(std::string path, FileAs as, bool follow, FileFacts facts) override;
  Task<std::vector<FileInfo>> list_levels(std::string path, FileAs as,
                                          ListOptions options) override;
  Task<std::unique_ptr<core::FileWatch>> watch(std::string path, FileAs as,
                                               bool recursive) override;

 private:
  std::shared_ptr<PersistentLink> line_;
};

// Waits for the link, and fails kUnsupported (keeper_too_old) if the keeper does not list `feature`
// (wire/keeper_features.h).
Task<void> need_feature(std::shared_ptr<PersistentLink> line, std::string_view feature);

}  // namespace cay::runtime
