#include "gate/pump.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <optional>

namespace cay::gate {
Result<Pipe> PipePool::take(Buffers buffers) {
  if (buffers == Buffers::kWide && !kept_.empty()) {
    Pipe pipe = std::move(kept_.back());
    kept_.pop_back();
    return pipe;
  }
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) return Error::from_errno(errno, "make a pipe");
  Pipe pipe{UniqueFd(ends[0]), UniqueFd(ends[1])};
  const auto size = static_cast<int>(pipe_size(buffers));
  pipe.whole = ::fcntl(ends[1], F_SETPIPE_SZ, size) >= size && buffers == Buffers::kWide;
  return pipe;
}

void PipePool::give_back(Pipe pipe) {
  if (pipe.whole && kept_.size() < kMostKept) kept_.push_back(std::move(pipe));
}

asio::awaitable<PumpEnd> pump(Descriptor& from, Descriptor& to, PipePool& pipes, Buffers buffers,
                              ByteQuota& left, std::uint64_t& moved) {
  constexpr unsigned kFlags = SPLICE_F_NONBLOCK | SPLICE_F_MOVE;
  std::optional<Pipe> pipe;
  int in_a_row = 0;
  for (;;) {
    if (left.is_used_up()) co_return PumpEnd::kUsedUp;
    if (!pipe) {
      auto taken = pipes.take(buffers);
      if (!taken) co_return PumpEnd::kStarved;
      pipe = *std::move(taken);
    }
    const ssize_t got = ::splice(from.native_handle(), nullptr, pipe->write.get(), nullptr,
                                 left.of(pipe_size(buffers)), kFlags);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) {
      pipes.give_back(*std::move(pipe));
      pipe.reset();
      in_a_row = 0;
      co_await readable(from);
      continue;
    }
    if (got < 0) co_return PumpEnd::kBroken;
    if (got == 0) {
      pipes.give_back(*std::move(pipe));
      co_return ::shutdown(to.native_handle(), SHUT_WR) == 0 ? PumpEnd::kFinished
                                                             : PumpEnd::kBroken;
    }
    left.take(static_cast<std::uint64_t>(got));
    for (auto held = static_cast<std::size_t>(got); held > 0;) {
      const ssize_t done =
          ::splice(pipe->read.get(), nullptr, to.native_handle(), nullptr, held, kFlags);
      if (done < 0 && errno == EINTR) continue;
      if (done < 0 && errno == EAGAIN) {
        in_a_row = 0;
        co_await writable(to);
        continue;
      }
      if (done <= 0) co_return PumpEnd::kBroken;
      held -= static_cast<std::size_t>(done);
      moved += static_cast<std::uint64_t>(done);
    }
    if (++in_a_row >= kMostInARow) {
      in_a_row = 0;
      co_await give_way();
    }
  }
}

}  // namespace cay::gate
