#include "keeper/out_buffer.h"

#include <sys/socket.h>

#include <cerrno>

#include "os/unix_socket.h"

namespace cay::keeper {
namespace {

constexpr std::size_t kTidy = 256 * 1024;  // sent bytes that are kept before the rest moves up

}  // namespace

void OutBuffer::tidy() {
  if (begin_ == 0 || (begin_ < bytes_.size() && begin_ <= kTidy)) return;
  bytes_.erase(0, begin_);
  begin_ = 0;
}

void OutBuffer::append(std::string_view bytes) {
  tidy();
  bytes_ += bytes;
}

void OutBuffer::append(std::uint64_t value, int bytes) {
  tidy();
  for (int i = 0; i < bytes; ++i) bytes_.push_back(static_cast<char>((value >> (8 * i)) & 0xff));
}

void OutBuffer::attach(UniqueFd descriptor) {
  attached_.push_back({gone_ + size(), std::move(descriptor)});
}

int OutBuffer::flush(int socket) {
  while (!empty()) {
    std::string_view piece = std::string_view(bytes_).substr(begin_);
    const bool passes = !attached_.empty() && attached_.front().at == gone_;
    const std::size_t next = passes ? 1 : 0;  // a message ends before the byte with the next one
    if (attached_.size() > next)
      piece = piece.substr(0, static_cast<std::size_t>(attached_[next].at - gone_));
    ssize_t done = 0;
    if (passes) {
      const int descriptor = attached_.front().descriptor.get();
      done = os::send_with(socket, piece, {&descriptor, 1}, MSG_DONTWAIT);
    } else {
      done = ::send(socket, piece.data(), piece.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    }
    if (done < 0 && errno == EINTR) continue;
    if (done < 0 && errno == EAGAIN) return 0;
    if (done < 0) return errno;
    if (passes) attached_.pop_front();
    begin_ += static_cast<std::size_t>(done);
    gone_ += static_cast<std::uint64_t>(done);
  }
  bytes_.clear();
  begin_ = 0;
  return 0;
}

void OutBuffer::shrink(std::size_t kept) {
  if (empty() && bytes_.capacity() > kept) bytes_ = {};
}

}  // namespace cay::keeper
