// The numbers of CommandMsg.state, as model/command.h has them (this room does not include model).
#pragma once
#include <cstdint>

namespace cay::keeper {

enum class CommandState : std::uint8_t {
  kRunning = 1,
  kExited = 2,
  kSignalled = 3,
  kTimedOut = 4,
  kIdleKilled = 5,
  kOomKilled = 6,
  kKilled = 7,
  kLost = 8,
};

}  // namespace cay::keeper
