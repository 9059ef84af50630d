// FileVerbs: core::Files over live sandboxes. Every call and every stream keeps its sandbox awake.
#pragma once
#include <memory>

#include "core/disk_room.h"
#include "core/verbs/files.h"
#include "core/wake.h"

namespace cay::core {

class FileVerbs : public Files {
 public:
  explicit FileVerbs(Wake& wake) : wake_(wake) {}

  Task<FileInfo> stat(Principal who, std::string ref, std::string path, FileAs as,
                      bool follow) override;
  Task<FileStream> read(Principal who, std::string ref, std::string path, FileAs as,
                        ReadRange range) override;
  Task<FileInfo> write(Principal who, std::string ref, std::string path, WriteOptions options,
                       std::unique_ptr<ByteSource> data) override;
  Task<std::vector<FileInfo>> list(Principal who, std::string ref, std::string path,
                                   FileAs as) override;
  Task<void> make_directory(Principal who, std::string ref, std::string path, FileAs as,
                            std::uint32_t mode) override;
  Task<void> remove(Principal who, std::string ref, std::string path, FileAs as,
                    bool recursive) override;
  Task<void> rename(Principal who, std::string ref, std::string from, std::string to,
                    FileAs as) override;
  Task<GlobResult> glob(Principal who, std::string ref, std::string root, std::string pattern,
                        FileAs as, std::uint32_t limit) override;
  Task<GrepResult> grep(Principal who, std::string ref, std::string root, std::string text,
                        std::string file_glob, FileAs as, std::uint32_t limit) override;
  Task<std::unique_ptr<TreeSource>> read_tree(Principal who, std::string ref, std::string path,
                                              FileAs as) override;
  Task<void> write_tree(Principal who, std::string ref, std::string path, FileAs as,
                        std::unique_ptr<TreeSource> tree) override;

 private:
  // Checks path and user, then wakes.
  Task<Held> open(Principal who, std::string ref, std::string path, FileAs as);
  Wake& wake_;
};

}  // namespace cay::core
