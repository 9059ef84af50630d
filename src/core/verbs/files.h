// Files: reads and writes the files of a sandbox, which they wake. `ref` is its id or name.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "async/task.h"
#include "core/ports/runtime.h"
#include "model/file.h"
#include "model/principal.h"

namespace cay::core {

class Files {
 public:
  virtual ~Files() = default;
  virtual Task<FileInfo> stat(Principal who, std::string ref, std::string path, FileAs as,
                              bool follow) = 0;
  virtual Task<FileStream> read(Principal who, std::string ref, std::string path, FileAs as,
                                ReadRange range) = 0;
  virtual Task<FileInfo> write(Principal who, std::string ref, std::string path,
                               WriteOptions options, std::unique_ptr<ByteSource> data) = 0;
  virtual Task<std::vector<FileInfo>> list(Principal who, std::string ref, std::string path,
                                           FileAs as) = 0;
  virtual Task<void> make_directory(Principal who, std::string ref, std::string path, FileAs as,
                                    std::uint32_t mode) = 0;
  virtual Task<void> remove(Principal who, std::string ref, std::string path, FileAs as,
                            bool recursive) = 0;
  virtual Task<void> rename(Principal who, std::string ref, std::string from, std::string to,
                            FileAs as) = 0;
  virtual Task<GlobResult> glob(Principal who, std::string ref, std::string root,
                                std::string pattern, FileAs as, std::uint32_t limit) = 0;
  virtual Task<GrepResult> grep(Principal who, std::string ref, std::string root, std::string text,
                                std::string file_glob, FileAs as, std::uint32_t limit) = 0;
  virtual Task<std::unique_ptr<TreeSource>> read_tree(Principal who, std::string ref,
                                                      std::string path, FileAs as) = 0;
  virtual Task<void> write_tree(Principal who, std::string ref, std::string path, FileAs as,
                                std::unique_ptr<TreeSource> tree) = 0;
};

}  // namespace cay::core
