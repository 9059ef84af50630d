// SocketMemory limits the kernel memory that the sockets of connections may hold, which the kernel
// counts for no sandbox. Each connection is admitted with the maximum of its four buffers. A
// sandbox's first ones get buffers that the kernel sizes (wide), later ones small fixed buffers
// (narrow). A connection for which no share is left is refused.
#pragma once
#include <cstdint>
#include <optional>

namespace cay::gate {

enum class Buffers : std::uint8_t {
  kWide,  // fitted to the way outside by the kernel, as far as this host lets them grow
  kNarrow,
  kTiny,
};

// The value for setsockopt; the kernel doubles it. 0: left to the kernel.
struct BufferSizes {
  int receive = 0, send = 0;
};

// The limits of this host's buffers (net.ipv4.tcp_rmem, tcp_wmem, net.core.rmem_max).
struct KernelBuffers {
  std::uint64_t most_receive = 0, most_send = 0, most_asked = 0;
  static KernelBuffers of_host();
};

class SocketMemory {
 public:
  static constexpr std::uint64_t kEach = std::uint64_t{384} << 20;  // of one sandbox
  static constexpr std::uint64_t kLeastOfAll = std::uint64_t{512} << 20,
                                 kMostOfAll = std::uint64_t{4} << 30;

  // 0: what is usual here (an eighth of the memory for all, kEach for one).
  SocketMemory(std::uint64_t each, std::uint64_t all, const KernelBuffers& host);

  // Returns the buffers for one more connection of a sandbox that holds `own` of `all`, beside
  // `sandboxes` - 1 others. They are wide while half is free, and narrow while three eighths are.
  // The last quarter is for sandboxes that hold less than their share of it. Returns nullopt if
  // there is no room.
  std::optional<Buffers> fit(std::uint64_t own, std::uint64_t all, std::size_t sandboxes) const;

  std::uint64_t cost(Buffers buffers) const;
  BufferSizes outside(Buffers buffers) const;
  static BufferSizes inside(Buffers buffers);

  std::uint64_t each() const { return each_; }
  std::uint64_t all() const { return all_; }

 private:
  std::uint64_t each_, all_, wide_cost_;
  int wide_receive_ = 0;
};

// The part of a pipe's bytes that a connection of that kind may have on their way at once.
std::uint32_t pipe_size(Buffers buffers);

// The value that one process sends to another. Never 0, which stands for an unknown one.
std::uint8_t told(Buffers buffers);
// An unknown value stands for narrow buffers, which most have.
Buffers buffers_told(std::uint8_t number);

void set_buffers(int socket_fd, BufferSizes sizes);

}  // namespace cay::gate
