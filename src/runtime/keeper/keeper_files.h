// KeeperFiles: the LiveFiles role over a keeper's connection.
#pragma once
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/ports/live_sandbox.h"
#include "runtime/keeper/persistent_link.h"

namespace cay::runtime {

class KeeperFiles : public virtual core::LiveFiles {
 public:
  explicit KeeperFiles(std::shared_ptr<PersistentLink> line) : line_(std::move(line)) {}

  Task<FileInfo> stat(std::string path, FileAs as, bool follow) override;
  Task<core::FileStream> read(std::string path, FileAs as, core::ReadRange range) override;
  Task<FileInfo> write(std::string path, core::WriteOptions options,
                       std::unique_ptr<ByteSource> data) override;
  Task<std::vector<FileInfo>> list(std::string path, FileAs as) override;
  Task<void> make_directory(std::string path, FileAs as, std::uint32_t mode) override;
  Task<void> remove(std::string path, FileAs as, bool recursive) override;
  Task<void> rename(std::string from, std::string to, FileAs as) override;
  Task<GlobResult> glob(std::string root, std::string pattern, FileAs as,
                        std::uint32_t limit) override;
  Task<GrepResult> grep(std::string root, std::string text, std::string file_glob, FileAs as,
                        std::uint32_t limit) override;
  Task<std::unique_ptr<core::TreeSource>> read_tree(std::string path, FileAs as) override;
  Task<void> write_tree(std::string path, FileAs as,
                        std::unique_ptr<core::TreeSource> tree) override;

 private:
  std::shared_ptr<PersistentLink> line_;
};

}  // namespace cay::runtime
