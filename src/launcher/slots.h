// Slots: ranges of host uids. A slot is 65,536 uids for the inside of one sandbox and one uid for
// its keeper. A lock on byte N of RUNTIME_DIR/slots/locks holds it. All instances of a host share
// the file, and the kernel frees the slot when the last holder of the descriptor (launcher, keeper)
// is gone.
#pragma once
#include <sys/types.h>

#include <cstdint>

#include "base/result.h"
#include "base/unique_fd.h"

namespace cay::launcher {

// Clear of /etc/subuid (below 0x26000000 by shadow's defaults), of systemd's container range
// (0x00080000-0x6FFFFFFF) and of its foreign range, which starts at 2147352576 (0x7FFE0000).
inline constexpr std::uint32_t kRangeBase = 0x7001'0000;
inline constexpr std::uint32_t kRangeSize = 65'536;
inline constexpr std::uint32_t kRangeEnd = 2'147'352'576;
inline constexpr std::uint32_t kKeeperBase = 0x7000'1000;
inline constexpr std::uint32_t kSlotCount = (kRangeEnd - kRangeBase) / kRangeSize;
static_assert(kKeeperBase + kSlotCount <= kRangeBase);

struct Slot {
  std::uint32_t number = 0;
  UniqueFd lock;
  uid_t keeper_uid() const { return kKeeperBase + number; }
  uid_t first_uid() const { return kRangeBase + number * kRangeSize; }
};

class Slots {
 public:
  Slots() = default;
  explicit Slots(UniqueFd directory) : directory_(std::move(directory)) {}

  // Any free one; kExhausted when all are taken.
  Result<Slot> take();
  // This one; kConflict (reason slot_taken) while somebody holds it.
  Result<Slot> take(std::uint32_t number);
  // How many nobody holds now. Tries each: for doctor.
  std::uint32_t count_free();

 private:
  UniqueFd directory_;
  std::uint32_t next_ = 0;  // where the last search ended: freed slots rest for a while
};

}  // namespace cay::launcher
