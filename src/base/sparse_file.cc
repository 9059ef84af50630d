#include "base/sparse_file.h"

#include <fcntl.h>
#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>

namespace cay {
namespace {

constexpr auto kMostBytes = static_cast<std::uint64_t>(std::numeric_limits<off_t>::max());

bool is_zero(std::string_view bytes) {
  return bytes.empty() || (bytes.front() == '\0' &&
                           std::memcmp(bytes.data(), bytes.data() + 1, bytes.size() - 1) == 0);
}

bool is_aligned(std::uint64_t offset, std::string_view bytes) {
  const auto address = reinterpret_cast<std::uintptr_t>(bytes.data());
  return (offset | bytes.size() | address) % SparseFile::kBlock == 0;
}

}  // namespace

int SparseFile::write_at(std::uint64_t offset, std::string_view bytes) {
  if (offset > kMostBytes || bytes.size() > kMostBytes - offset) return EFBIG;
  const std::uint64_t fresh =
      std::max(offset, end_);  // before it something may lie, which zeros must replace
  end_ = std::max(end_, offset + bytes.size());
  std::size_t waiting = 0;  // of `bytes`, from their begin: to be written
  for (std::size_t seen = 0; seen < bytes.size();) {
    const std::uint64_t at = offset + seen;
    const std::size_t size =
        std::min<std::size_t>(kBlock - static_cast<std::size_t>(at % kBlock), bytes.size() - seen);
    seen += size;
    if (at < fresh || !is_zero(bytes.substr(seen - size, size))) {
      waiting += size;
      continue;
    }
    if (const int failed = put(at - waiting, bytes.substr(seen - size - waiting, waiting));
        failed != 0)
      return failed;
    waiting = 0;
  }
  return put(offset + bytes.size() - waiting, bytes.substr(bytes.size() - waiting));
}

int SparseFile::finish(std::uint64_t size) {
  if (size > kMostBytes) return EFBIG;
  return ::ftruncate(fd_, static_cast<off_t>(size)) == 0 ? 0 : errno;
}

void SparseFile::pass_cache_by(bool on) {
  if (on == direct_) return;
  const int flags = ::fcntl(fd_, F_GETFL);
  if (flags >= 0 && ::fcntl(fd_, F_SETFL, on ? flags | O_DIRECT : flags & ~O_DIRECT) == 0)
    direct_ = on;
}

int SparseFile::put(std::uint64_t offset, std::string_view bytes) {
  while (!bytes.empty()) {
    if (direct_ && !is_aligned(offset, bytes)) pass_cache_by(false);
    const ssize_t done = ::pwrite(fd_, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (done < 0 && errno == EINTR) continue;
    // btrfs reports ENOSPC for a quota that is used up, too. The cache has the true reason.
    if (done < 0 && (errno == EINVAL || errno == ENOSPC) && direct_) {
      pass_cache_by(false);
      continue;
    }
    if (done < 0) return errno;
    offset += static_cast<std::uint64_t>(done);
    bytes.remove_prefix(static_cast<std::size_t>(done));
  }
  return 0;
}

}  // namespace cay
