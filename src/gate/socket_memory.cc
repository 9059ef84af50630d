#include "gate/socket_memory.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/sysinfo.h>

#include <algorithm>
#include <cstdlib>
#include <string>

#include "os/file.h"

namespace cay::gate {
namespace {

constexpr std::uint64_t kKi = 1024, kMi = 1024 * kKi;
constexpr std::uint64_t kOneMore =
    64 * kKi;  // a buffer that has room takes one segment more than that
// Inside it is one hop without delay: more buys nothing.
constexpr int kWideInside = 208 * 1024;
constexpr int kNarrow = 64 * 1024;
constexpr int kTiny = 8 * 1024;
constexpr std::uint64_t kWidePipe = 256 * kKi, kNarrowPipe = 64 * kKi, kTinyPipe = 16 * kKi;
// If the kernel grows receive buffers further than this (since 6.16 to 32 MiB), their size is set,
// up to what is allowed.
constexpr std::uint64_t kMostFitted = 8 * kMi;
constexpr int kAskedReceive = 3 * 1024 * 1024;

std::uint64_t number_in(const char* path, int which) {
  const std::string text = os::read_file(AT_FDCWD, path, 256).value_or("");
  const char* at = text.c_str();
  std::uint64_t value = 0;
  for (int i = 0; i <= which; ++i) {
    char* end = nullptr;
    value = std::strtoull(at, &end, 10);
    if (end == at) return 0;
    at = end;
  }
  return value;
}

std::uint64_t memory_of_host() {
  struct sysinfo info{};
  return ::sysinfo(&info) == 0 ? std::uint64_t{info.totalram} * info.mem_unit : 0;
}

}  // namespace

KernelBuffers KernelBuffers::of_host() {
  const auto or_else = [](std::uint64_t value, std::uint64_t usual) {
    return value != 0 ? value : usual;
  };
  return {or_else(number_in("/proc/sys/net/ipv4/tcp_rmem", 2), 6 * kMi),
          or_else(number_in("/proc/sys/net/ipv4/tcp_wmem", 2), 4 * kMi),
          or_else(number_in("/proc/sys/net/core/rmem_max", 0), 208 * kKi)};
}

SocketMemory::SocketMemory(std::uint64_t each, std::uint64_t all, const KernelBuffers& host)
    : all_(all != 0 ? all : std::clamp(memory_of_host() / 8, kLeastOfAll, kMostOfAll)) {
  each_ = std::min(each != 0 ? each : kEach, all_);
  const bool asked = host.most_receive > kMostFitted && host.most_asked >= kAskedReceive;
  if (asked) wide_receive_ = kAskedReceive;
  const std::uint64_t receive = asked ? 2 * std::uint64_t{kAskedReceive} : host.most_receive;
  wide_cost_ =
      receive + host.most_send + 4 * std::uint64_t{kWideInside} + 4 * kOneMore + 2 * kWidePipe;
}

std::uint64_t SocketMemory::cost(Buffers buffers) const {
  switch (buffers) {
    case Buffers::kWide: return wide_cost_;
    case Buffers::kNarrow: return 8 * std::uint64_t{kNarrow} + kOneMore;
    case Buffers::kTiny: break;
  }
  return 8 * std::uint64_t{kTiny} + kOneMore;
}

std::optional<Buffers> SocketMemory::fit(std::uint64_t own, std::uint64_t all,
                                         std::size_t sandboxes) const {
  struct Part {
    Buffers buffers;
    std::uint64_t eighths;
  };
  for (const Part part :
       {Part{Buffers::kWide, 4}, Part{Buffers::kNarrow, 5}, Part{Buffers::kTiny, 8}}) {
    const std::uint64_t more = cost(part.buffers);
    if (own + more > each_ / 8 * part.eighths || all + more > all_ / 8 * part.eighths) continue;
    const bool last_quarter = all + more > all_ / 4 * 3;
    if (!last_quarter || own + more <= all_ / 4 / std::max<std::size_t>(sandboxes, 1))
      return part.buffers;
  }
  return std::nullopt;
}

BufferSizes SocketMemory::outside(Buffers buffers) const {
  switch (buffers) {
    case Buffers::kWide: return {wide_receive_, 0};
    case Buffers::kNarrow: return {kNarrow, kNarrow};
    case Buffers::kTiny: break;
  }
  return {kTiny, kTiny};
}

BufferSizes SocketMemory::inside(Buffers buffers) {
  switch (buffers) {
    case Buffers::kWide: return {kWideInside, kWideInside};
    case Buffers::kNarrow: return {kNarrow, kNarrow};
    case Buffers::kTiny: break;
  }
  return {kTiny, kTiny};
}

std::uint32_t pipe_size(Buffers buffers) {
  switch (buffers) {
    case Buffers::kWide: return kWidePipe;
    case Buffers::kNarrow: return kNarrowPipe;
    case Buffers::kTiny: break;
  }
  return kTinyPipe;
}

std::uint8_t told(Buffers buffers) {
  return static_cast<std::uint8_t>(static_cast<std::uint8_t>(buffers) + 1);
}

Buffers buffers_told(std::uint8_t number) {
  for (const Buffers one : {Buffers::kWide, Buffers::kNarrow, Buffers::kTiny}) {
    if (told(one) == number) return one;
  }
  return Buffers::kNarrow;
}

void set_buffers(int socket_fd, BufferSizes sizes) {
  if (sizes.receive != 0)
    ::setsockopt(socket_fd, SOL_SOCKET, SO_RCVBUF, &sizes.receive, sizeof sizes.receive);
  if (sizes.send != 0)
    ::setsockopt(socket_fd, SOL_SOCKET, SO_SNDBUF, &sizes.send, sizeof sizes.send);
}

}  // namespace cay::gate
