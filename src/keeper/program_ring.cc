#include "keeper/program_ring.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace cay::keeper {
namespace {

constexpr std::uint32_t kBusy = 1U << 31;  // being written
constexpr std::uint32_t kDiscarded = 1U << 30;
constexpr std::size_t kHead = 8;

std::size_t page_size() { return static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)); }

}  // namespace

Result<ProgramRing> ProgramRing::map(int ring_fd, int state_fd, std::size_t size) {
  const std::size_t page = page_size();
  ProgramRing ring;
  ring.size_ = size;
  void* reader = ::mmap(nullptr, page, PROT_READ | PROT_WRITE, MAP_SHARED, ring_fd, 0);
  if (reader == MAP_FAILED) return Error::from_errno(errno, "map the ring's reader page");
  ring.reader_ = static_cast<std::uint64_t*>(reader);
  void* writer =
      ::mmap(nullptr, page + 2 * size, PROT_READ, MAP_SHARED, ring_fd, static_cast<off_t>(page));
  if (writer == MAP_FAILED) return Error::from_errno(errno, "map the ring");
  ring.writer_ = static_cast<const std::uint64_t*>(writer);
  ring.data_ = static_cast<const char*>(writer) + page;
  void* state = ::mmap(nullptr, page, PROT_READ, MAP_SHARED, state_fd, 0);
  if (state == MAP_FAILED) return Error::from_errno(errno, "map the ring's counters");
  ring.state_ = static_cast<const cay_program_state*>(state);
  // Children are the guest's soon.
  ::madvise(reader, page, MADV_DONTFORK);
  ::madvise(writer, page + 2 * size, MADV_DONTFORK);
  ::madvise(state, page, MADV_DONTFORK);
  return ring;
}

ProgramRing& ProgramRing::operator=(ProgramRing&& other) noexcept {
  std::swap(reader_, other.reader_);
  std::swap(writer_, other.writer_);
  std::swap(data_, other.data_);
  std::swap(state_, other.state_);
  std::swap(size_, other.size_);
  return *this;
}

ProgramRing::~ProgramRing() {
  const std::size_t page = page_size();
  const auto unmap = [](const volatile void* at, std::size_t bytes) {
    if (at != nullptr) ::munmap(const_cast<void*>(at), bytes);
  };
  unmap(reader_, page);
  unmap(writer_, page + 2 * size_);
  unmap(state_, page);
}

bool ProgramRing::drain(const std::function<void(const cay_program_event&, std::size_t)>& called) {
  std::uint64_t at = *reader_;  // ours alone
  const std::uint64_t stop = at + size_;
  while (at < stop) {
    if (at >= __atomic_load_n(writer_, __ATOMIC_ACQUIRE)) return true;
    const char* record = data_ + (at & (size_ - 1));
    const std::uint32_t word =
        __atomic_load_n(reinterpret_cast<const std::uint32_t*>(record), __ATOMIC_ACQUIRE);
    if ((word & kBusy) != 0) return true;  // the kernel signals when it is done
    const std::uint32_t length = word & ~(kBusy | kDiscarded);
    if ((word & kDiscarded) == 0)
      called(*reinterpret_cast<const cay_program_event*>(record + kHead), length);
    at += (kHead + length + 7) & ~std::uint64_t{7};
    __atomic_store_n(reader_, at, __ATOMIC_RELEASE);
  }
  return false;
}

std::uint64_t ProgramRing::lost() const { return __atomic_load_n(&state_->lost, __ATOMIC_RELAXED); }

}  // namespace cay::keeper
