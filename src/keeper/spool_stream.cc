#include "keeper/spool_stream.h"

#include <fcntl.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace cay::keeper {

using wire::SpoolPiece;

namespace {

// A short disk takes no ordinary command's output away: up to kOrdinary they may use half of the
// reserve, and kAlways is kept on any disk, so that many commands together do not take the rest.
constexpr std::uint64_t kAlways = 4096;
constexpr std::uint64_t kOrdinary = 256 * 1024;
constexpr std::uint64_t kLookEvery = 1024 * 1024;  // a look costs about a microsecond

}  // namespace

SpoolStream::SpoolStream(int dir, const char* name, std::uint64_t limit, std::uint64_t reserve,
                         SpoolBudget* budget)
    : dir_(dir),
      name_(name),
      limit_(std::max(limit, kAlways)),
      reserve_(reserve),
      budget_(budget),
      room_until_(kAlways) {}

SpoolStream::SpoolStream(int dir, const char* name, const wire::ExtentMsg& extent)
    : dir_(dir), name_(name), limit_(0), room_until_(0), abandoned_(true), extent_(extent) {}

bool SpoolStream::open_file() {
  if (file_) return true;
  const int flags = abandoned_ ? O_RDONLY : O_RDWR | O_CREAT;
  file_.reset(::openat(dir_, name_, flags | O_CLOEXEC | O_NOFOLLOW, 0640));
  return static_cast<bool>(file_);
}

std::size_t SpoolStream::write_at(std::string_view bytes, std::uint64_t position) {
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t got = ::pwrite(file_.get(), bytes.data() + done, bytes.size() - done,
                                 static_cast<off_t>(position + done));
    if (got > 0) {
      done += static_cast<std::size_t>(got);
    } else if (got < 0 && errno == EINTR) {
      continue;
    } else {
      break;
    }
  }
  return done;
}

// A disk whose free space cannot be read is not short: a write will show it.
bool SpoolStream::disk_is_short() const {
  struct statvfs disk{};
  if (reserve_ == 0 || ::fstatvfs(dir_, &disk) != 0) return false;
  const std::uint64_t kept_free = extent_.bytes < kOrdinary ? reserve_ / 2 : reserve_;
  return std::uint64_t{disk.f_bavail} * disk.f_frsize < kept_free;
}

// From here on the file grows no more: its first half stays, the second is a ring.
bool SpoolStream::start_ring(std::uint64_t size_on_disk) {
  extent_.ring_begin = size_on_disk / 2;
  extent_.ring_size = size_on_disk - extent_.ring_begin;
  all_lost_ = extent_.ring_size == 0;
  if (before_ring_) before_ring_();
  return true;
}

void SpoolStream::update_gap() {
  if (all_lost_) {
    extent_.gap_begin = 0;
    extent_.gap_end = extent_.bytes;
    return;
  }
  if (extent_.ring_size == 0) return;
  const std::uint64_t kept =
      extent_.bytes > extent_.ring_size ? extent_.bytes - extent_.ring_size : 0;
  const std::uint64_t tail = std::max(kept, lost_before_);
  if (tail > extent_.ring_begin) {
    extent_.gap_begin = extent_.ring_begin;
    extent_.gap_end = tail;
  }
}

void SpoolStream::mark_ring(std::uint64_t until) {
  const std::string mark =
      wire::ring_mark({.bytes = extent_.bytes, .until = until, .lost_before = lost_before_});
  const std::size_t done = write_at(mark, extent_.ring_begin + extent_.ring_size);
  if (done < mark.size() || std::exchange(marked_, true) || budget_ == nullptr) return;
  budget_->take(mark.size());
}

bool SpoolStream::append(std::string_view bytes) {
  bool layout_changed = false;
  if (abandoned_) {
    extent_.bytes += bytes.size();
    return false;
  }
  if (!all_lost_ && !open_file()) {
    if (extent_.bytes == 0) {
      layout_changed = start_ring(0);
    } else {  // an open file was given back and cannot be had again: what follows is lost
      if (extent_.ring_size == 0) layout_changed = start_ring(extent_.bytes);
      lost_before_ = extent_.bytes + bytes.size();
    }
  }
  while (!bytes.empty()) {
    if (all_lost_ || !file_) {
      extent_.bytes += bytes.size();
      break;
    }
    if (extent_.ring_size == 0) {
      const std::uint64_t left = budget_ != nullptr ? budget_->room(extent_.bytes) : limit_;
      if (left == 0 || extent_.bytes >= limit_ ||
          (extent_.bytes >= room_until_ && disk_is_short())) {
        layout_changed = start_ring(extent_.bytes);
        continue;
      }
      if (extent_.bytes >= room_until_)
        room_until_ = extent_.bytes < kOrdinary ? kOrdinary : extent_.bytes + kLookEvery;
      const std::uint64_t room = std::min(std::min(limit_, room_until_) - extent_.bytes, left);
      const auto run = static_cast<std::size_t>(std::min<std::uint64_t>(room, bytes.size()));
      const std::size_t done = write_at(bytes.substr(0, run), extent_.bytes);
      extent_.bytes += done;
      if (budget_ != nullptr) budget_->take(done);
      bytes.remove_prefix(done);
      if (done < run)
        layout_changed = start_ring(extent_.bytes);  // the disk is full: reuse what we hold
      continue;
    }
    const std::uint64_t position =
        extent_.ring_begin + (extent_.bytes - extent_.ring_begin) % extent_.ring_size;
    const std::uint64_t room = extent_.ring_begin + extent_.ring_size - position;
    const auto run = static_cast<std::size_t>(std::min<std::uint64_t>(room, bytes.size()));
    mark_ring(extent_.bytes + run);
    const std::size_t done = write_at(bytes.substr(0, run), position);
    extent_.bytes += run;
    bytes.remove_prefix(run);
    if (done < run) lost_before_ = extent_.bytes;
    mark_ring(extent_.bytes);
  }
  update_gap();
  return layout_changed;
}

SpoolPiece SpoolStream::read(std::uint64_t offset, std::span<char> into) {
  SpoolPiece piece = wire::locate(extent_, offset, into.size());
  if (piece.kind != SpoolPiece::Kind::kData || piece.length == 0) return piece;
  if (!open_file()) return {SpoolPiece::Kind::kGap, piece.length, 0};
  std::size_t done = 0;
  while (done < piece.length) {
    const ssize_t got = ::pread(file_.get(), into.data() + done, piece.length - done,
                                static_cast<off_t>(piece.file_position + done));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    done += static_cast<std::size_t>(got);
  }
  // A byte the disk does not give back is a gap, never an invention.
  if (done == 0) return {SpoolPiece::Kind::kGap, piece.length, 0};
  piece.length = done;
  return piece;
}

void SpoolStream::abandon() {
  if (!abandoned_ && extent_.bytes > 0) open_file();
  abandoned_ = true;
}

}  // namespace cay::keeper
