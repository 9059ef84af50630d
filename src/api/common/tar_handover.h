// TarHandover connects the loop, which suspends, with the thread of a tar parser, which blocks. The
// loop feeds one chunk at a time. At most a few events wait for the loop. The parser ends soon
// after close().
#pragma once
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>

#include "archive/tar_parser.h"
#include "async/event.h"
#include "core/ports/runtime.h"

namespace cay::api {

class TarHandover final : public archive::ParserSide {
 public:
  // The loop's next step.
  enum class Turn : std::uint8_t {
    kTake,   // an event is there
    kFeed,   // the parser wants input
    kWait,   // the parser works
    kEnded,  // see result()
  };

  explicit TarHandover(asio::any_io_executor loop);

  // The loop's side.
  Turn turn();
  core::TreeEvent take();           // after kTake
  void feed(Bytes input);           // after kFeed; empty: the end
  asio::awaitable<void> changed();  // after kWait, without a wait between; may wake for nothing
  Result<void> result();            // after kEnded
  void close();                     // pull and push fail from now on

  // The parser's side; these wait.
  std::optional<Bytes> pull() override;         // nullopt: closed
  bool push(archive::TarEvent event) override;  // false: closed
  void finish(Result<void> result);

 private:
  void wake();

  asio::any_io_executor loop_;
  std::shared_ptr<Event> event_;  // shared with wake-ups that lie in the loop's queue
  std::mutex mutex_;
  std::condition_variable parser_;
  std::deque<core::TreeEvent> events_;
  std::size_t event_bytes_ = 0;
  std::optional<Bytes> input_;
  std::optional<Result<void>> result_;
  bool hungry_ = false;
  bool closed_ = false;
};

}  // namespace cay::api
