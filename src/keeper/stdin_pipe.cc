#include "keeper/stdin_pipe.h"

#include <sys/epoll.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace cay::keeper {

StdinPipe::StdinPipe(Loop& loop, Outbox& outbox, StdinBudget& budget, UniqueFd fd, bool terminal)
    : outbox_(outbox), loop_(loop), budget_(budget), fd_(std::move(fd)), terminal_(terminal) {}

void StdinPipe::count() {
  budget_.held -= counted_;
  counted_ = buffer_.size() - begin_ + waiting_bytes_;
  budget_.held += counted_;
}

Error StdinPipe::closed() {
  return {Code::kNotReady, "stdin_closed",
          "the command's stdin is closed: nothing more can be written to it", 0};
}

void StdinPipe::write(ReplyTo to, std::string data, bool more) {
  if (!fd_ || ending_ || (!waiting_.empty() && waiting_.back().end))
    return outbox_.fail(to, closed());
  if (data.empty()) {
    more_ = more_ || more;
    return outbox_.ok(to);
  }
  more_ = true;  // until it is taken: what is refused stays with the daemon
  const bool full = waiting_.size() >= kWaiting || waiting_bytes_ + data.size() > kWaitingBytes;
  if (full || budget_.held + data.size() > StdinBudget::kMost) {
    return outbox_.fail(to,
                        Error{Code::kExhausted, "stdin_backlog",
                              "too much is waiting for commands that do not read their stdin", 0});
  }
  more_ = more;
  waiting_bytes_ += data.size();
  waiting_.push_back({to, std::move(data), false});
  admit();
  flush();
}

void StdinPipe::close_when_drained(ReplyTo to) {
  outbox_.ok(to);  // for a closed one, too: the request is met
  more_ = false;
  if (terminal_ || !fd_) return;
  waiting_.push_back({ReplyTo{}, {}, true});
  admit();
  flush();
}

// Moves held-back writes into the buffer, in their order, as far as it has room. One write larger
// than the room goes in when the buffer is empty.
void StdinPipe::admit() {
  while (!waiting_.empty()) {
    Waiting& next = waiting_.front();
    const std::size_t held = buffer_.size() - begin_;
    if (next.end) {
      ending_ = true;
    } else {
      if (held > 0 && held + next.data.size() > kBuffer) return;
      waiting_bytes_ -= next.data.size();
      if (begin_ > 0) {
        buffer_.erase(0, begin_);
        begin_ = 0;
      }
      buffer_ += next.data;
      outbox_.ok(next.to);
    }
    waiting_.pop_front();
  }
}

void StdinPipe::flush() {
  while (fd_) {
    while (begin_ < buffer_.size()) {
      const ssize_t done = ::write(fd_.get(), buffer_.data() + begin_, buffer_.size() - begin_);
      if (done < 0 && errno == EINTR) continue;
      if (done < 0 && errno == EAGAIN) {
        if (!watch_) {
          watch_ = loop_.watch(fd_.get(), EPOLLOUT, [this](std::uint32_t) { flush(); });
        } else {
          watch_.want(EPOLLOUT);
        }
        return count();
      }
      if (done < 0) return close();  // EPIPE: nobody reads it any more
      begin_ += static_cast<std::size_t>(done);
      if (buffer_.size() - begin_ <= kBuffer / 2) admit();
    }
    buffer_ = {};
    begin_ = 0;
    admit();
    if (begin_ == buffer_.size()) break;
  }
  watch_.reset();
  count();
  if (ending_) close();
}

void StdinPipe::close() {
  watch_.reset();
  fd_.reset();
  buffer_ = {};
  begin_ = 0;
  waiting_bytes_ = 0;
  count();
  for (const Waiting& one : std::exchange(waiting_, {})) {
    if (!one.end) outbox_.fail(one.to, closed());
  }
}

}  // namespace cay::keeper
