#include "api/common/stdin_feed.h"

#include <utility>

#include "api/common/stdin_write.h"
#include "core/verbs/commands.h"

namespace cay::api {
namespace {

constexpr std::size_t kJoined =
    64 * 1024;  // keystrokes are joined up to this, so that they weigh what they count
constexpr std::size_t kSweep = 1024;

// An Event that the room wakes while it lives.
class Waiter {
 public:
  Waiter(std::set<Event*>& among, Event& event) : among_(among), event_(&event) {
    among_.insert(event_);
  }
  ~Waiter() { among_.erase(event_); }
  Waiter(const Waiter&) = delete;
  Waiter& operator=(const Waiter&) = delete;

 private:
  std::set<Event*>& among_;
  Event* event_;
};

asio::awaitable<void> say_more(core::Cay& cay, Principal who, std::string sandbox, CommandId id) {
  auto told = co_await cay.commands().write_stdin(who, sandbox, id, {}, true);
  static_cast<void>(told);  // whoever writes hears of what is wrong
}

}  // namespace

void InputRoom::give(std::size_t bytes) {
  held_ -= bytes;
  for (Event* event : waiting_) event->notify();
}

std::shared_ptr<Mutex> InputRoom::turn_of(const std::string& command,
                                          const asio::any_io_executor& executor) {
  if (turns_.size() > kSweep)
    std::erase_if(turns_, [](const auto& one) { return one.second.expired(); });
  auto& turn = turns_[command];
  auto found = turn.lock();
  if (!found) turn = found = std::make_shared<Mutex>(executor);
  return found;
}

asio::awaitable<void> StdinFeed::push(Bytes bytes) {
  const std::size_t size = bytes.size();
  if (size == 0) co_return;
  while (!dropped_ && held_ > 0 && (held_ + size > kMost || !room_->fits(size))) {
    const Waiter waiter(room_->waiting_, changed_);
    co_await changed_.wait();
  }
  if (dropped_) co_return;
  held_ += size;
  room_->take(size);
  if (!pieces_.empty() && !pieces_.back().end && pieces_.back().bytes.size() + size <= kJoined) {
    pieces_.back().bytes += bytes;
  } else {
    pieces_.push_back({std::move(bytes), false});
  }
  tell();
}

void StdinFeed::push_end() {
  if (dropped_ || (!pieces_.empty() && pieces_.back().end)) return;
  pieces_.push_back({{}, true});
  tell();
}

void StdinFeed::tell() {
  if (std::exchange(alone_, false)) say_more_();
  changed_.notify();
}

void StdinFeed::close() {
  closed_ = true;
  changed_.notify();
}

void StdinFeed::drop() {
  dropped_ = closed_ = true;
  forget();
}

void StdinFeed::forget() {
  pieces_.clear();
  room_->give(held_);
  held_ = 0;
  changed_.notify();
}

Task<void> StdinFeed::run(core::Cay& cay, Principal who, std::string sandbox, CommandId id) {
  say_more_ = [this, &cay, who, sandbox, id] { telling_.spawn(say_more(cay, who, sandbox, id)); };
  const auto turn = room_->turn_of(sandbox + "/" + id.get(), changed_.executor());
  for (;;) {
    while (pieces_.empty() && !closed_) {
      co_await changed_.wait();
    }
    if (pieces_.empty()) co_return Result<void>();
    auto mine = co_await turn->lock();
    while (!pieces_.empty()) {
      Piece piece = std::move(pieces_.front());
      pieces_.pop_front();
      const std::size_t size = piece.bytes.size();
      Result<void> done;
      if (piece.end) {
        done = co_await end_stdin(cay, who, sandbox, id);
      } else {
        alone_ = pieces_.empty();
        done = co_await write_whole_stdin(cay, who, sandbox, id, std::move(piece.bytes), !alone_);
        alone_ = false;
      }
      if (!done) {
        forget();
        co_return of_one_that_began(std::move(done).error());
      }
      if (held_ >= size) {  // less: it was forgotten meanwhile
        held_ -= size;
        room_->give(size);
        changed_.notify();
      }
    }
  }
}

}  // namespace cay::api
