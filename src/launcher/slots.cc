#include "launcher/slots.h"

#include <fcntl.h>

#include <cerrno>
#include <string>

namespace cay::launcher {

namespace {

// One file for all slots, one byte of it for each (fcntl(2), open file description locks). A file
// for each slot would stay behind for every number that was ever used.
constexpr const char* kLocks = "locks";

struct flock byte_of(std::uint32_t number) {
  struct flock lock{};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  lock.l_start = number;
  lock.l_len = 1;
  return lock;
}

}  // namespace

Result<Slot> Slots::take(std::uint32_t number) {
  Slot slot;
  slot.number = number;
  // A description of its own: the lock goes with the last descriptor of it.
  slot.lock =
      UniqueFd(::openat(directory_.get(), kLocks, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!slot.lock) return Error::from_errno(errno, "open the slots' locks");
  struct flock lock = byte_of(number);
  if (::fcntl(slot.lock.get(), F_OFD_SETLK, &lock) == 0) return slot;
  const std::string name = std::to_string(number);
  if (errno != EAGAIN && errno != EACCES) return Error::from_errno(errno, "lock slot " + name);
  return Error{Code::kConflict, "slot_taken", "slot " + name + " is taken", 0};
}

Result<Slot> Slots::take() {
  for (std::uint32_t tried = 0; tried < kSlotCount; ++tried) {
    const std::uint32_t number = next_;
    next_ = (next_ + 1) % kSlotCount;
    auto slot = take(number);
    if (slot || slot.error().reason != "slot_taken") return slot;
  }
  return Error{Code::kExhausted, "no_slot",
               "all " + std::to_string(kSlotCount) +
                   " uid ranges of this host are in use: stop some sandboxes",
               0};
}

std::uint32_t Slots::count_free() {
  const UniqueFd fd(::openat(directory_.get(), kLocks, O_RDWR | O_CLOEXEC | O_NOFOLLOW));
  if (!fd) return kSlotCount;  // nobody ever took one
  std::uint32_t free = 0;
  for (std::uint32_t number = 0; number < kSlotCount; ++number) {
    struct flock lock = byte_of(number);
    if (::fcntl(fd.get(), F_OFD_GETLK, &lock) == 0 && lock.l_type == F_UNLCK) ++free;
  }
  return free;
}

}  // namespace cay::launcher
