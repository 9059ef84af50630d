// ReadAhead: reads a stream on the client's loop for a caller on another thread. It reads ahead, so
// that both threads work at once and no piece waits for a change of threads.
#pragma once
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <string>

#include "async/bytes.h"
#include "async/event.h"
#include "async/scope.h"
#include "client/loop.h"

namespace cay::client {

class ReadAhead {
 public:
  static constexpr std::size_t kMostAhead = 2 << 20;  // bytes, and one piece more

  // `loop` must outlive it.
  ReadAhead(Loop& loop, std::unique_ptr<ByteSource> source);
  ~ReadAhead();  // the source goes on the loop's thread
  ReadAhead(const ReadAhead&) = delete;

  // The next piece, or an empty one at the end. Not after the end, nor after an Error.
  Result<std::string> next();

 private:
  struct State {
    State(const asio::any_io_executor& loop, std::unique_ptr<ByteSource> from)
        : source(std::move(from)), room(loop), work(loop) {}
    std::unique_ptr<ByteSource> source;
    Event room;  // the caller has taken enough
    // Both threads are here, under the mutex.
    std::mutex mutex;
    std::condition_variable come;
    std::deque<Result<std::string>> pieces;
    std::size_t bytes = 0;
    bool full = false;
    Scope work;
  };
  static Task<void> begin(State& state);
  static Task<void> end(std::unique_ptr<State> state);
  static asio::awaitable<void> fill(State& state);
  static asio::awaitable<Result<std::string>> next_of(ByteSource& source);

  Loop& loop_;
  std::unique_ptr<State> state_;
};

}  // namespace cay::client
