// FileChanges: changes of files beyond their content, and reads of several, as Files does them.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "async/task.h"
#include "core/ports/live_sandbox.h"
#include "model/file.h"
#include "model/principal.h"

namespace cay::core {

struct NamedFile {
  std::string path;            // as requested
  Result<FileStream> content;  // an error concerns this file alone
};

// Several files, one after the other. A stream is read before the next file is requested.
class SeveralFiles {
 public:
  virtual ~SeveralFiles() = default;
  virtual asio::awaitable<std::optional<NamedFile>> next() = 0;  // nullopt: the end
};

class FileChanges {
 public:
  virtual ~FileChanges() = default;
  virtual Task<ChangeCount> set_mode(Principal who, std::string ref, std::string path, FileAs as,
                                     TreeMode mode) = 0;
  virtual Task<ChangeCount> set_owner(Principal who, std::string ref, std::string path, FileAs as,
                                      TreeOwner owner) = 0;
  virtual Task<ChangeCount> copy(Principal who, std::string ref, CopyRequest request,
                                 FileAs as) = 0;
  virtual Task<ChangeCount> move(Principal who, std::string ref, CopyRequest request,
                                 FileAs as) = 0;
  virtual Task<ReplaceResult> replace(Principal who, std::string ref, ReplaceRequest request,
                                      FileAs as) = 0;
  virtual Task<FileInfo> describe(Principal who, std::string ref, std::string path, FileAs as,
                                  bool follow, FileFacts facts) = 0;
  virtual Task<std::vector<FileInfo>> list_levels(Principal who, std::string ref, std::string path,
                                                  FileAs as, ListOptions options) = 0;
  // At most 1000 paths. Fails at once only for what concerns them all.
  virtual Task<std::unique_ptr<SeveralFiles>> read_several(Principal who, std::string ref,
                                                           std::vector<std::string> paths,
                                                           FileAs as) = 0;
};

}  // namespace cay::core
