// Whole trees into and out of a file: a tar that zstd compresses. It keeps owners as numbers,
// extended attributes, devices (overlay's whiteouts), hard links and holes.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "archive/tar_writer.h"
#include "base/result.h"

struct archive_entry_linkresolver;

namespace cay::archive {

class TreeWriter {
 public:
  // Writes to `fd`, which outlives it.
  static Result<TreeWriter> create(int fd);
  TreeWriter(TreeWriter&&) noexcept = default;
  TreeWriter& operator=(TreeWriter&&) noexcept = default;

  Result<void> add_bytes(const std::string& name, const std::string& bytes);
  // The content of a regular file that nobody writes, of any size, piece by piece.
  Result<void> add_content(int fd, const std::string& name);
  // The directory `dir` and all below it on its file system, as `name`/...; nothing is followed.
  Result<void> add_tree(int dir, const std::string& name);
  // Like add_tree(), for a tree whose entries come and go meanwhile. An entry directly in it is
  // added whole, or not at all if a part of it has gone. Regular files and directories only, at
  // most some hundred below each entry.
  Result<void> add_changing_tree(int dir, const std::string& name);
  Result<void> close();

  // Entries that the archive does not have exactly as they are (a sentence each).
  const std::vector<std::string>& warnings() const { return warnings_; }

 private:
  struct Free {
    void operator()(::archive_entry_linkresolver* it) const;
  };
  TreeWriter() = default;
  Result<void> begin_plain(const std::string& name, std::int64_t size);
  Result<void> put_bytes(const std::string& name, std::string_view bytes);
  Result<void> put(::archive* from, ::archive_entry* entry);
  Result<void> add_open_file(int fd, const std::string& name);
  std::unique_ptr<TarWriter> out_;
  std::unique_ptr<::archive_entry_linkresolver, Free> links_;
  std::vector<std::string> warnings_;
};

// The destination of an entry. dir -1: it is left out.
struct TarPlace {
  int dir = -1;           // the directory it goes below
  std::string which;      // that directory's own name: descriptors are used again for others
  std::string name;       // relative to it; empty: the directory itself
  std::int64_t gid = -1;  // another group than the archive's; -1: as there
};

// The first file of an archive, with its bytes. Leaves the descriptor's position anywhere.
Result<std::pair<std::string, std::string>> first_of_tar(int fd);

// Reads a whole archive. `small` gets every regular file whose place has no directory, with its
// bytes (at most 64 MiB). Nothing leaves the given directories: no "..", no absolute name, no
// symbolic link on the way.
Result<void> extract_tar(
    int fd, const std::function<Result<TarPlace>(const std::string& name)>& place,
    const std::function<Result<void>(const std::string& name, std::string bytes)>& small);

}  // namespace cay::archive
