#include "keeper/connection.h"

#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

namespace cay::keeper {
Connection::Connection(Loop& loop, UniqueFd fd, Events events)
    : loop_(loop), fd_(std::move(fd)), events_(std::move(events)) {
  watch_ = loop_.watch(fd_.get(), EPOLLIN, [this](std::uint32_t ready) {
    if ((ready & EPOLLOUT) != 0) flush();
    if (!dead_ && (ready & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0) read_some();
  });
}

void Connection::head(wire::Type type, std::uint32_t channel, std::size_t payload) {
  out_.append(payload + wire::kHeaderBytes - 4, 4);
  out_.append(static_cast<std::uint64_t>(type), 2);
  out_.append(0, 2);
  out_.append(channel, 4);
}

void Connection::send(wire::Type type, std::uint32_t channel, std::string_view payload) {
  if (dead_) return;
  head(type, channel, payload.size());
  out_.append(payload);
  schedule_flush();
}

void Connection::send_data(std::uint32_t channel, const wire::Data& data) {
  if (dead_) return;
  constexpr std::size_t kDataHead = 10;
  head(wire::Type::kData, channel, kDataHead + data.bytes.size());
  out_.append(data.stream, 1);
  out_.append(data.after_end ? 1 : 0, 1);
  out_.append(data.offset, 8);
  out_.append(data.bytes);
  schedule_flush();
}

void Connection::send_with(UniqueFd descriptor, wire::Type type, std::uint32_t channel,
                           std::string_view payload) {
  if (dead_) return;
  out_.attach(std::move(descriptor));
  send(type, channel, payload);
}

// Schedules one flush for all frames of a round of the loop, before the loop sleeps. Within a flush
// the next one waits for the socket, so that others on the loop have their turn.
void Connection::schedule_flush() {
  full_ |= !room();
  if (blocked_) return rewatch();
  if (flushing_ || flush_due_) return;
  if (hurried_) return flush_before_sleep();
  if (!patience_) patience_ = loop_.after(kPatienceMs, [this] { flush(); });
}

// Deferred twice: what others defer until then goes out as well.
void Connection::flush_before_sleep() {
  flush_due_ = true;
  const std::weak_ptr<bool> here = here_;
  loop_.defer([this, here] {
    if (here.expired()) return;
    loop_.defer([this, here] {
      if (!here.expired() && !dead_) flush();
    });
  });
}

void Connection::rewatch() {
  std::uint32_t events = 0;
  if (reads()) events |= EPOLLIN;
  if (!flushed() || ending_) events |= EPOLLOUT;
  watch_.want(events);
}

void Connection::flush() {
  flush_due_ = false;
  patience_.reset();
  flushing_ = true;
  send_queued();
  flushing_ = false;
  blocked_ = !flushed();
  if (!dead_) rewatch();
}

void Connection::send_queued() {
  if (out_.flush(fd_.get()) != 0) return closed();
  if (flushed()) {
    out_.shrink(2 * kHighWater);
    if (ending_) return closed();
  }
  if (full_ && out_.size() < kHighWater / 2) {
    full_ = false;
    events_.on_room();
  }
  if (!dead_) process();
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
  patience_.reset();
  events_.on_close();
}

}  // namespace cay::keeper
