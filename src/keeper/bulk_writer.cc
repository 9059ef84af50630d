#include "keeper/bulk_writer.h"

#include <time.h>

namespace cay::keeper {
namespace {

constexpr std::uint64_t kLooked = 32 << 20;  // written before a way is judged
// The kernel writes cached pages back later, and frees them, which takes as long again.
constexpr double kLater = 2.0;

std::uint64_t now_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 +
         static_cast<std::uint64_t>(now.tv_nsec);
}

}  // namespace

double BulkWriter::Way::ns_per_byte() const {
  return bytes == 0 ? 0.0 : static_cast<double>(ns) / static_cast<double>(bytes);
}

std::size_t BulkWriter::whole_blocks(std::size_t bytes) const {
  return bytes - static_cast<std::size_t>((pending_.end() + bytes) % SparseFile::kBlock);
}

Result<void> BulkWriter::write(std::string_view bytes) {
  const bool direct = passes_cache_by();
  pending_.pass_cache_by(direct);
  const std::uint64_t begin = now_ns();
  CAY_CHECK(pending_.write(bytes, shown_));
  Way& way = direct ? direct_ : cached_;
  way.ns += now_ns() - begin;
  way.bytes += bytes.size();
  if (direct_.bytes >= kLooked) {
    given_up_ |= direct_.ns_per_byte() > kLater * cached_.ns_per_byte();
    direct_ = Way{direct_.bytes / 2, direct_.ns / 2};
  }
  return {};
}

}  // namespace cay::keeper
