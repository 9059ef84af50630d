#include "keeper/program_record.h"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace cay::keeper {
namespace {

using wire::ProgramKind;
using wire::ProgramMsg;

constexpr std::int64_t kGatherMs = 10;  // processes come in bursts: one look for all of that time
constexpr std::size_t kBatch = 256 * 1024;
constexpr std::uint64_t kReserve =
    512;  // for the word that the record is full, and a gap before it
constexpr std::size_t kScan = 1 << 20;

std::int64_t micros(clockid_t clock) {
  timespec now{};
  ::clock_gettime(clock, &now);
  return std::int64_t{now.tv_sec} * 1'000'000 + now.tv_nsec / 1000;
}

ProgramMsg marker(ProgramKind kind, std::int64_t at_us) {
  ProgramMsg message;
  message.kind = static_cast<std::uint8_t>(kind);
  message.at_us = at_us;
  return message;
}

}  // namespace

Result<ProgramFile> ProgramFile::open(int spool_fd, std::uint64_t limit) {
  ProgramFile out;
  out.limit_ = limit;
  out.file_.reset(
      ::openat(spool_fd, wire::kProgramFile, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0640));
  if (!out.file_) return Error::from_errno(errno, "open the program record");
  std::string bytes(kScan, '\0');
  std::string head(wire::kProgramHead.size(), '\0');
  const ssize_t got = ::pread(out.file_.get(), head.data(), head.size(), 0);
  if (got != static_cast<ssize_t>(head.size()) || head != wire::kProgramHead) {
    if (::ftruncate(out.file_.get(), 0) != 0 ||
        ::pwrite(out.file_.get(), wire::kProgramHead.data(), head.size(), 0) !=
            static_cast<ssize_t>(head.size())) {
      return Error::from_errno(errno, "begin the program record");
    }
    out.size_ = head.size();
    return out;
  }
  out.size_ = head.size();
  for (;;) {
    const ssize_t size =
        ::pread(out.file_.get(), bytes.data(), bytes.size(), static_cast<off_t>(out.size_));
    if (size <= 0) break;
    const auto read = wire::read_programs(
        std::string_view(bytes).substr(0, static_cast<std::size_t>(size)), SIZE_MAX);
    if (read.good == 0) break;
    out.size_ += read.good;
    for (const auto& [at, message] : read.records) {
      if (message.kind == static_cast<std::uint8_t>(ProgramKind::kLife))
        out.cut_short_ = message.closes;
      if (message.kind == static_cast<std::uint8_t>(ProgramKind::kClosed)) out.cut_short_ = false;
    }
    out.full_ = read.records.back().second.kind == static_cast<std::uint8_t>(ProgramKind::kFull);
    if (read.damaged) break;
  }
  if (::ftruncate(out.file_.get(), static_cast<off_t>(out.size_)) != 0)
    return Error::from_errno(errno, "cut the program record");
  return out;
}

// Returns false if it does not fit: then the record states that it ends here.
bool ProgramFile::put(const ProgramMsg& message) {
  if (full_ || full_after_batch_) return false;
  const std::size_t before = batch_.size();
  wire::append_program(batch_, message);
  ++records_;
  if (size_ + batch_.size() + kReserve <= limit_) return true;
  batch_.resize(before);
  wire::append_program(batch_, marker(ProgramKind::kFull, message.at_us));
  full_after_batch_ = true;
  return false;
}

void ProgramFile::tell_missing() {
  if (missing_ == 0) return;
  ProgramMsg gap = marker(ProgramKind::kLost, last_at_us_);
  gap.lost = missing_;
  if (!put(gap)) return;
  --records_;  // it is none itself
  told_ += missing_;
  missing_ = 0;
}

void ProgramFile::add(const ProgramMsg& message) {
  last_at_us_ = message.at_us;
  tell_missing();
  (void)put(message);
  if (batch_.size() >= kBatch) flush();
}

void ProgramFile::begin_life(std::int64_t at_us) {
  if (std::exchange(cut_short_, false)) add(marker(ProgramKind::kLost, at_us));
  ProgramMsg life = marker(ProgramKind::kLife, at_us);
  life.closes = true;
  add(life);
  flush();
}

void ProgramFile::close_life(std::int64_t at_us) {
  if (full_) return;
  add(marker(ProgramKind::kClosed, at_us));
  flush();
}

void ProgramFile::flush() {
  tell_missing();
  std::size_t done = 0;
  while (done < batch_.size()) {
    const ssize_t wrote = ::pwrite(file_.get(), batch_.data() + done, batch_.size() - done,
                                   static_cast<off_t>(size_ + done));
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) break;
    done += static_cast<std::size_t>(wrote);
  }
  if (done == batch_.size()) {
    size_ += done;
    full_ = full_ || full_after_batch_;
  } else {
    // Half a batch would be true as well, but then nobody would know how much of it is missing.
    [[maybe_unused]] const int cut = ::ftruncate(file_.get(), static_cast<off_t>(size_));
    missing_ += records_ + told_;
    full_after_batch_ = false;
  }
  batch_.clear();
  records_ = told_ = 0;
}

Result<void> ProgramRecord::check(const Context& context) {
  if (context.program_ring_fd < 0) return {};
  CAY_TRY(const ProgramFile file, ProgramFile::open(context.spool_fd));
  CAY_TRY(const ProgramRing ring,
          ProgramRing::map(context.program_ring_fd, context.program_state_fd));
  return {};
}

ProgramRecord::ProgramRecord(Loop& loop, const Context& context)
    : loop_(loop), first_uid_(context.first_uid) {
  if (context.program_ring_fd < 0) return;
  epoch_us_ = micros(CLOCK_REALTIME) - micros(CLOCK_BOOTTIME);
  auto file = ProgramFile::open(context.spool_fd);
  auto ring = ProgramRing::map(context.program_ring_fd, context.program_state_fd);
  if (!file || !ring) ::_exit(1);
  file_ = std::move(*file);
  if (file_.full()) return;
  ring_ = std::move(*ring);
  file_.begin_life(micros(CLOCK_REALTIME));
  watch_ = loop_.watch(context.program_ring_fd, EPOLLIN, [this](std::uint32_t) {
    watch_.want(0);
    timer_ = loop_.after(kGatherMs, [this] {
      catch_up();
      if (watch_) watch_.want(EPOLLIN);
    });
  });
}

void ProgramRecord::catch_up() {
  if (!ring_) return;
  ring_.drain([this](const cay_program_event& event, std::size_t size) {
    const auto message = wire::program_of(event, size, first_uid_, epoch_us_);
    if (!message) return file_.add_lost(1);
    if (event.lost > lost_) {
      file_.add_lost(event.lost - lost_);
      lost_ = event.lost;
    }
    file_.add(*message);
  });
  const std::uint64_t lost = ring_.lost();
  if (lost > lost_) {
    file_.add_lost(lost - lost_);
    lost_ = lost;
  }
  file_.flush();
  if (!file_.full()) return;
  // Nobody reads from here on; the kernel part counts what it cannot put down.
  watch_.reset();
  ring_ = ProgramRing();
}

void ProgramRecord::close() {
  if (!ring_) return;
  catch_up();
  file_.close_life(micros(CLOCK_REALTIME));
}

}  // namespace cay::keeper
