#include "launcher/slots.h"

#include <fcntl.h>
#include <sys/file.h>

#include <cerrno>
#include <string>

namespace cay::launcher {

Result<Slot> Slots::take(std::uint32_t number) {
  Slot slot;
  slot.number = number;
  const std::string name = std::to_string(number);
  slot.lock = UniqueFd(::openat(directory_.get(), name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!slot.lock) return Error::from_errno(errno, "open slot " + name);
  if (::flock(slot.lock.get(), LOCK_EX | LOCK_NB) == 0) return slot;
  if (errno != EWOULDBLOCK) return Error::from_errno(errno, "lock slot " + name);
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
               "all " + std::to_string(kSlotCount) + " uid ranges of this host are in use: stop some sandboxes", 0};
}

std::uint32_t Slots::count_free() {
  std::uint32_t free = 0;
  for (std::uint32_t number = 0; number < kSlotCount; ++number) {
    const std::string name = std::to_string(number);
    const UniqueFd fd(::openat(directory_.get(), name.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW));
    if (!fd || ::flock(fd.get(), LOCK_EX | LOCK_NB) == 0) ++free;  // closing it lets go again
  }
  return free;
}

}  // namespace cay::launcher
