#include "keeper/output_pipe.h"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace cay::keeper {
namespace {

constexpr std::size_t kChunk = 64 * 1024;
constexpr std::size_t kTurn = 4 * kChunk;  // then others get their turn
// A pipe that was found full holds this much from then on, so that its writer sleeps less often.
// The kernel lets one user have 64 MiB of pipes, beyond which new ones are small. All pipes of a
// sandbox are its keeper's.
constexpr int kGrownPipe = 256 * 1024;
constexpr std::size_t kTerminalDrain = 256 * 1024;  // more than a terminal's buffers hold

std::array<char, kChunk>& buffer() {
  static std::array<char, kChunk> bytes;  // one thread, used within one call only
  return bytes;
}

}  // namespace

OutputPipe::OutputPipe(Loop& loop, UniqueFd fd, SpoolStream& stream,
                       std::function<void(bool)> on_bytes, std::function<void()> on_eof)
    : fd_(std::move(fd)),
      stream_(stream),
      on_bytes_(std::move(on_bytes)),
      on_eof_(std::move(on_eof)) {
  watch_ = loop.watch(fd_.get(), EPOLLIN, [this](std::uint32_t) { on_readable(); });
}

void OutputPipe::grow() {
  if (grown_) return;
  grown_ = true;
  ::fcntl(fd_.get(), F_SETPIPE_SZ, kGrownPipe);  // a terminal has no size, and a busy user may not
}

ssize_t OutputPipe::read_some(std::size_t most) {
  auto& bytes = buffer();
  for (;;) {
    const ssize_t got = ::read(fd_.get(), bytes.data(), std::min(most, bytes.size()));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) return 0;
    if (got <= 0) return -1;  // a terminal ends with EIO
    if (static_cast<std::size_t>(got) == bytes.size()) grow();
    const bool changed =
        stream_.append(std::string_view(bytes.data(), static_cast<std::size_t>(got)));
    on_bytes_(changed);
    return got;
  }
}

void OutputPipe::on_readable() {
  std::size_t done = 0;
  while (done < kTurn) {
    const ssize_t got = read_some(kChunk);
    if (got < 0) return at_eof();
    if (got == 0) return;
    done += static_cast<std::size_t>(got);
  }
}

void OutputPipe::drain() {
  if (!fd_) return;
  // A child that goes on writing must not hold us, so only the pipe's present bytes are read. A
  // terminal does not report their number, and its buffers are small.
  std::size_t left = kTerminalDrain;
  int queued = 0;
  if (::isatty(fd_.get()) == 0 && ::ioctl(fd_.get(), FIONREAD, &queued) == 0)
    left = static_cast<std::size_t>(queued);
  while (left > 0) {
    const ssize_t got = read_some(left);
    if (got < 0) return at_eof();
    if (got == 0) return;
    left -= std::min(left, static_cast<std::size_t>(got));
  }
  // Mostly no writer is left, which only a further read shows.
  if (read_some(kChunk) < 0) at_eof();
}

void OutputPipe::at_eof() {
  watch_.reset();
  fd_.reset();
  on_eof_();
}

}  // namespace cay::keeper
