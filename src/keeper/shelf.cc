#include "keeper/shelf.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "keeper/loop.h"
#include "keeper/tape.h"

namespace cay::keeper {
namespace {

// Who woke the sandbox to look at one that is overdue shall still find it.
constexpr std::int64_t kGraceMs = 60'000;

std::int64_t left_of(const wire::CommandMsg& record, const std::string& boot_id) {
  if (record.ttl_ms < 0) return -1;
  std::int64_t passed = 0;  // one that was lost has no end to count from
  if (!record.ended_boot_id.empty() && record.ended_boot_id == boot_id) {
    passed = boottime_ms() - record.ended_boot_ms;
  } else if (record.ended_at > 0) {
    passed = wall_ms() - record.ended_at;  // over a boot of the host there is no other clock
  }
  return std::clamp(record.ttl_ms - std::max<std::int64_t>(passed, 0), std::min(record.ttl_ms, kGraceMs), record.ttl_ms);
}

}  // namespace

Shelf::Shelf(int spool, std::string boot_id, SpoolBudget& budget)
    : spool_(spool), boot_id_(std::move(boot_id)), budget_(budget) {
  const int own = ::openat(spool, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (own < 0) return;
  listing_.reset(::fdopendir(own));
  if (!listing_) ::close(own);
}

std::optional<Shelved> Shelf::find(const std::string& id) {
  if (!valid_command_id(id)) return std::nullopt;
  const auto tape = Tape::load(spool_, id);
  if (!tape || (*tape)->about.command_id != id) return std::nullopt;
  const wire::CommandMsg& record = (*tape)->about;
  budget_.take(Tape::bytes_on_disk(spool_, id));
  return Shelved{record.digest, record.ttl_ms, left_of(record, boot_id_)};
}

std::optional<std::string> Shelf::next() {
  while (listing_) {
    const dirent* entry = ::readdir(listing_.get());
    if (entry == nullptr) {
      listing_.reset();
      break;
    }
    if (valid_command_id(entry->d_name)) return std::string(entry->d_name);
  }
  return std::nullopt;
}

}  // namespace cay::keeper
