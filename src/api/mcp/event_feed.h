// EventFeed: the stream of one response as server-sent events: progress while the call is under
// way, then the response.
//
// Progress never waits for the client. Reports that the client has not taken become one
// notification, which keeps the end of a long text.
#pragma once
#include <memory>
#include <string>
#include <string_view>

#include "async/event.h"
#include "async/task.h"
#include "base/clock.h"
#include "codec/json.h"

namespace cay::api::mcp {

class EventFeed {
 public:
  // `token` is the client's progress token. Null: it wants no progress. `heartbeat`: the longest
  // silence.
  EventFeed(const asio::any_io_executor& executor, codec::json::value token,
            Millis heartbeat = Millis{15'000})
      : token_(std::move(token)), heartbeat_(heartbeat), changed_(executor) {}

  bool wants_progress() const { return !token_.is_null(); }
  // Reports what was done since the last report. `text` is valid UTF-8.
  void report(std::string_view text);
  // Ends the stream with this message. Empty: without one, because the client cancelled.
  void finish(std::string message);

  // Returns the events as the body of a response. After a silence it sends progress without a text,
  // so that a client sees that the call is alive. A client that wants no progress gets a comment,
  // which keeps proxies from ending the stream.
  static std::unique_ptr<ByteSource> source_of(std::shared_ptr<EventFeed> feed);

 private:
  friend class FeedSource;
  std::string take();  // the next message; empty: none is there

  codec::json::value token_;
  const Millis heartbeat_;
  Event changed_;
  std::uint64_t done_ = 0;  // bytes that were reported, steps without a text, and heartbeats
  bool is_reported_ = true;
  std::string text_;  // what was reported since the last notification
  std::string last_;
  bool finished_ = false;
};

}  // namespace cay::api::mcp
