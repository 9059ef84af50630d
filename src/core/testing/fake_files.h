// FakeFiles: the file tree of one fake sandbox, in memory. Paths are absolute or relative to the
// caller's workdir; symlinks are shown, not followed. Parents appear with write().
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/ports/runtime.h"

namespace cay::core::testing {

// A ByteSource over bytes, cut in chunks; `fail_after` chunks it fails with kCancelled (a client
// that goes away in the middle).
std::unique_ptr<ByteSource> bytes_source(Bytes bytes, std::size_t chunk = 64 * 1024,
                                         int fail_after = -1);
// A TreeSource over prepared events.
std::unique_ptr<TreeSource> tree_source(std::vector<TreeEvent> events);

class FakeFiles {
 public:
  explicit FakeFiles(std::function<UnixMillis()> now);

  struct Node {
    FileInfo info;
    Bytes bytes;
  };
  std::map<std::string, Node> tree;  // "/" always there
  bool disk_full = false;            // writes fail kExhausted (disk_full) and change nothing

  // Test's hand: a file or directory with its parents.
  void put(const std::string& path, Bytes bytes, std::uint32_t mode = 0644);
  void put_directory(const std::string& path, std::uint32_t mode = 0755);
  std::optional<Bytes> bytes_of(const std::string& path) const;

  Result<FileInfo> stat(const std::string& path, const FileAs& as);
  Result<FileStream> read(const std::string& path, const FileAs& as, ReadRange range);
  Task<FileInfo> write(std::string path, WriteOptions options, std::unique_ptr<ByteSource> data);
  Result<std::vector<FileInfo>> list(const std::string& path, const FileAs& as);
  Result<void> make_directory(const std::string& path, const FileAs& as, std::uint32_t mode);
  Result<void> remove(const std::string& path, const FileAs& as, bool recursive);
  Result<void> rename(const std::string& from, const std::string& to, const FileAs& as);
  Result<GlobResult> glob(const std::string& root, const std::string& pattern, const FileAs& as,
                          std::uint32_t limit);
  Result<GrepResult> grep(const std::string& root, const std::string& text,
                          const std::string& file_glob, const FileAs& as, std::uint32_t limit);
  Result<std::unique_ptr<TreeSource>> read_tree(const std::string& path, const FileAs& as);
  Task<void> write_tree(std::string path, FileAs as, std::unique_ptr<TreeSource> source);

 private:
  Result<Node*> find(const std::string& absolute);
  Node& add(const std::string& absolute, FileKind kind, std::uint32_t mode);
  std::function<UnixMillis()> now_;
  std::uint64_t next_inode_ = 2;
};

}  // namespace cay::core::testing
