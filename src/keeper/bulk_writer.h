// BulkWriter: writes the content of a large upload, and chooses how.
//
// The first megabytes go through the page cache, as all small files do. Then it tries to pass the
// cache by (O_DIRECT): where the disk takes that, no page is made, counted, written back and freed
// again. It goes back to the cache if that turns out to take longer.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "keeper/file_paths.h"

namespace cay::keeper {

class BulkWriter {
 public:
  static constexpr std::size_t kMost = 1024 * 1024;  // bytes of one piece
  static constexpr std::size_t kLeast = 256 * 1024;  // of one that is worth a write
  static constexpr std::uint64_t kCachedFirst = 16 << 20;

  // Both outlive it.
  BulkWriter(PendingFile& pending, const std::string& shown) : pending_(pending), shown_(shown) {}

  // How many of the next `bytes` bytes end with a block of the file.
  std::size_t whole_blocks(std::size_t bytes) const;
  // `bytes` should begin at an address that is a multiple of SparseFile::kBlock.
  Result<void> write(std::string_view bytes);

 private:
  struct Way {
    std::uint64_t bytes = 0;
    std::uint64_t ns = 0;
    double ns_per_byte() const;
  };
  bool passes_cache_by() const { return cached_.bytes >= kCachedFirst && !given_up_; }

  PendingFile& pending_;
  const std::string& shown_;
  Way cached_;
  Way direct_;  // of late
  bool given_up_ = false;
};

}  // namespace cay::keeper
