// FileChangeVerbs: core::FileChanges over live sandboxes.
#pragma once
#include "core/verbs/file_changes.h"
#include "core/wake.h"

namespace cay::core {

class FileChangeVerbs : public FileChanges {
 public:
  explicit FileChangeVerbs(Wake& wake) : wake_(wake) {}

  Task<ChangeCount> set_mode(Principal who, std::string ref, std::string path, FileAs as,
                             TreeMode mode) override;
  Task<ChangeCount> set_owner(Principal who, std::string ref, std::string path, FileAs as,
                              TreeOwner owner) override;
  Task<ChangeCount> copy(Principal who, std::string ref, CopyRequest request, FileAs as) override;
  Task<ChangeCount> move(Principal who, std::string ref, CopyRequest request, FileAs as) override;
  Task<ReplaceResult> replace(Principal who, std::string ref, ReplaceRequest request,
                              FileAs as) override;
  Task<FileInfo> describe(Principal who, std::string ref, std::string path, FileAs as, bool follow,
                          FileFacts facts) override;
  Task<std::vector<FileInfo>> list_levels(Principal who, std::string ref, std::string path,
                                          FileAs as, ListOptions options) override;
  Task<std::unique_ptr<SeveralFiles>> read_several(Principal who, std::string ref,
                                                   std::vector<std::string> paths,
                                                   FileAs as) override;

 private:
  // Checks path and user, then wakes.
  Task<Held> open(Principal who, std::string ref, std::string path, FileAs as);
  Wake& wake_;
};

}  // namespace cay::core
