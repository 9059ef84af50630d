#include "keeper/connection.h"

#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "os/unix_socket.h"

namespace cay::keeper {
namespace {

void put(std::string& out, std::uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) out.push_back(static_cast<char>((value >> (8 * i)) & 0xff));
}

}  // namespace

Connection::Connection(Loop& loop, UniqueFd fd, Events events)
    : loop_(loop), fd_(std::move(fd)), events_(std::move(events)) {
  watch_ = loop_.watch(fd_.get(), EPOLLIN, [this](std::uint32_t ready) {
    if ((ready & EPOLLOUT) != 0) flush();
    if (!dead_ && (ready & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0) read_some();
  });
}

void Connection::head(wire::Type type, std::uint32_t channel, std::size_t payload) {
  if (out_begin_ > 0 && (out_begin_ == out_.size() || out_begin_ > kHighWater)) {
    out_.erase(0, out_begin_);
    out_begin_ = 0;
  }
  put(out_, payload + wire::kHeaderBytes - 4, 4);
  put(out_, static_cast<std::uint64_t>(type), 2);
  put(out_, 0, 2);
  put(out_, channel, 4);
}

void Connection::send(wire::Type type, std::uint32_t channel, std::string_view payload) {
  if (dead_) return;
  head(type, channel, payload.size());
  out_ += payload;
  schedule_flush();
}

void Connection::send_data(std::uint32_t channel, const wire::Data& data) {
  if (dead_) return;
  constexpr std::size_t kDataHead = 10;
  head(wire::Type::kData, channel, kDataHead + data.bytes.size());
  put(out_, data.stream, 1);
  put(out_, data.after_end ? 1 : 0, 1);
  put(out_, data.offset, 8);
  out_ += data.bytes;
  schedule_flush();
}

bool Connection::send_with(int descriptor, wire::Type type, std::uint32_t channel,
                           std::string_view payload) {
  if (!dead_ && !flushed()) flush();
  if (dead_ || !flushed()) return false;
  head(type, channel, payload.size());  // which begins anew in what was flushed
  out_ += payload;
  const auto sent = os::send_message(fd_.get(), out_, {descriptor});  // into an empty buffer
  out_.clear();
  out_begin_ = 0;
  return static_cast<bool>(sent);
}

// Schedules one flush for all frames of a round of the loop.
void Connection::schedule_flush() {
  full_ |= !room();
  rewatch();
}

void Connection::rewatch() {
  std::uint32_t events = 0;
  if (reads()) events |= EPOLLIN;
  if (!flushed() || ending_) events |= EPOLLOUT;
  watch_.want(events);
}

void Connection::flush() {
  while (out_begin_ < out_.size()) {
    const ssize_t done =
        ::send(fd_.get(), out_.data() + out_begin_, out_.size() - out_begin_, MSG_NOSIGNAL);
    if (done < 0 && errno == EINTR) continue;
    if (done < 0 && errno == EAGAIN) break;
    if (done < 0) return closed();
    out_begin_ += static_cast<std::size_t>(done);
  }
  if (flushed()) {
    if (out_.capacity() > 2 * kHighWater) out_ = {};
    out_.clear();
    out_begin_ = 0;
    if (ending_) return closed();
  }
  if (full_ && queued() < kHighWater / 2) {
    full_ = false;
    events_.on_room();
  }
  if (!dead_) process();
  if (!dead_) rewatch();
}

void Connection::read_some() {
  if (!reads()) return;
  static std::array<char, 64 * 1024> buffer;
  const ssize_t got = ::read(fd_.get(), buffer.data(), buffer.size());
  if (got < 0 && (errno == EINTR || errno == EAGAIN)) return;
  if (got <= 0) return closed();
  reader_.feed(std::string_view(buffer.data(), static_cast<std::size_t>(got)));
  process();
}

// Frame by frame: answers may reach the hard limit, the rest then waits.
void Connection::process() {
  if (processing_) return;
  processing_ = true;
  while (!dead_ && reads()) {
    auto frame = reader_.next();
    if (!frame) break;
    events_.on_frame(*std::move(frame));
  }
  processing_ = false;
  if (!dead_ && reader_.bad()) closed();
}

void Connection::close_after_flush() {
  if (ending_ || dead_) return;
  ending_ = true;
  rewatch();
}

void Connection::closed() {
  if (dead_) return;
  dead_ = true;
  watch_.reset();
  events_.on_close();
}

}  // namespace cay::keeper
