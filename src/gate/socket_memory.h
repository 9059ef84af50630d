// SocketMemory: what the sockets of connections may hold in the kernel, which counts it for no sandbox. Each connection is
// admitted with the most that its four buffers can come to: the first ones of a sandbox get buffers that the kernel fits to
// the way (wide), later ones small fixed ones, and what no share is left for is refused.
#pragma once
#include <cstdint>
#include <optional>

namespace cay::gate {

enum class Buffers : std::uint8_t {
  kWide,    // fitted to the way outside by the kernel, as far as this host lets them grow
  kNarrow,
  kTiny,
};

// What setsockopt is told; the kernel takes twice of it. 0: left to the kernel.
struct BufferSizes {
  int receive = 0, send = 0;
};

// What this host lets buffers grow to (net.ipv4.tcp_rmem, tcp_wmem, net.core.rmem_max).
struct KernelBuffers {
  std::uint64_t most_receive = 0, most_send = 0, most_asked = 0;
  static KernelBuffers of_host();
};

class SocketMemory {
 public:
  static constexpr std::uint64_t kEach = std::uint64_t{384} << 20;  // of one sandbox
  static constexpr std::uint64_t kLeastOfAll = std::uint64_t{512} << 20, kMostOfAll = std::uint64_t{4} << 30;

  // 0: what is usual here (an eighth of the memory for all, kEach for one).
  SocketMemory(std::uint64_t each, std::uint64_t all, const KernelBuffers& host);

  // How one more connection may be had by a sandbox that holds `own` of `all` that is held, beside `doors` - 1 others: wide ones
  // while half is free, narrow ones while three eighths are. The last quarter of all is for sandboxes that hold less than
  // their share of it. Nothing: not at all.
  std::optional<Buffers> fit(std::uint64_t own, std::uint64_t all, std::size_t doors) const;

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

// As one process tells another: never 0, which is what one says that does not know it.
std::uint8_t told(Buffers buffers);
// Of what is unsaid or unknown the narrow ones: they are what most are.
Buffers buffers_told(std::uint8_t number);

void set_buffers(int socket_fd, BufferSizes sizes);

}  // namespace cay::gate
