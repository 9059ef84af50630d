// Pump: moves one direction of a connection inside the kernel (splice), with its back-pressure and
// its half-close.
#pragma once
#include <cstdint>
#include <vector>

#include "gate/byte_quota.h"
#include "gate/socket_memory.h"
#include "gate/sockets.h"

namespace cay::gate {

struct Pipe {
  UniqueFd read, write;
  bool whole = false;  // of full size: the user's share of pipes was not used up when it was made,
                       // and it is worth keeping
};

// A pipe is needed only while bytes are on their way: idle connections have none.
class PipePool {
 public:
  static constexpr std::size_t kMostKept = 64;
  Result<Pipe> take(Buffers buffers);
  void give_back(Pipe pipe);  // an empty one

 private:
  std::vector<Pipe> kept_;
};

enum class PumpEnd : std::uint8_t {
  kFinished,  // the source ended, and the target got its end
  kBroken,    // either side broke
  kStarved,   // this process has no pipe for it
  kUsedUp,    // the sandbox may move nothing more that way
};

// Until the source ends. `moved` counts.
asio::awaitable<PumpEnd> pump(Descriptor& from, Descriptor& to, PipePool& pipes, Buffers buffers,
                              ByteQuota& left, std::uint64_t& moved);

}  // namespace cay::gate
