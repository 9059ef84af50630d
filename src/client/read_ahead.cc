#include "client/read_ahead.h"

#include <boost/asio/post.hpp>
#include <exception>
#include <utility>

namespace cay::client {

ReadAhead::ReadAhead(Loop& loop, std::unique_ptr<ByteSource> source)
    : loop_(loop), state_(std::make_unique<State>(loop.executor(), std::move(source))) {
  (void)loop_.wait(begin(*state_));
}

ReadAhead::~ReadAhead() { (void)loop_.wait(end(std::move(state_))); }

Task<void> ReadAhead::begin(State& state) {
  state.work.spawn(fill(state));
  co_return Result<void>();
}

Task<void> ReadAhead::end(std::unique_ptr<State> state) {
  state->work.cancel();
  co_await state->work.join();
  co_return Result<void>();
}

Result<std::string> ReadAhead::next() {
  std::unique_lock lock(state_->mutex);
  state_->come.wait(lock, [this] { return !state_->pieces.empty(); });
  auto piece = std::move(state_->pieces.front());
  state_->pieces.pop_front();
  if (piece) state_->bytes -= piece->size();
  if (state_->full && state_->bytes <= kMostAhead / 2) {
    state_->full = false;
    // It runs before end(), which the loop is given later.
    asio::post(loop_.executor(), [state = state_.get()] { state->room.set(); });
  }
  return piece;
}

asio::awaitable<void> ReadAhead::fill(State& state) {
  for (;;) {
    auto piece = co_await next_of(*state.source);
    const bool last = !piece || piece->empty();
    bool full = false;
    {
      const std::lock_guard lock(state.mutex);
      if (piece) state.bytes += piece->size();
      state.pieces.push_back(std::move(piece));
      full = state.full = !last && state.bytes >= kMostAhead;
      if (full) state.room.reset();
    }
    state.come.notify_one();
    if (last) co_return;
    if (full) {
      co_await state.room.wait();
    }
  }
}

// A caller waits for a piece, so that an exception has to become one.
asio::awaitable<Result<std::string>> ReadAhead::next_of(ByteSource& source) {
  try {
    auto piece = co_await source.next();
    co_return piece;
  } catch (...) {
    if (is_cancellation(std::current_exception())) throw;
  }
  co_return Error{Code::kInternal, "internal", "reading the answer failed: report it", 0};
}

}  // namespace cay::client
