#include "api/mcp/event_feed.h"

#include <algorithm>
#include <utility>

#include "api/mcp/json_rpc.h"
#include "codec/utf8.h"

namespace cay::api::mcp {
namespace {

constexpr std::size_t kChunk = 64 * 1024;         // of a ByteSource
constexpr std::size_t kMostProgress = 16 * 1024;  // bytes of text in one notification

}  // namespace

class FeedSource : public ByteSource {
 public:
  explicit FeedSource(std::shared_ptr<EventFeed> feed) : feed_(std::move(feed)) {}

  Task<Bytes> next() override {
    if (at_ < event_.size()) co_return piece();
    for (;;) {
      std::string message = feed_->take();
      if (!message.empty()) {
        event_ = "event: message\ndata: " + message + "\n\n";
        at_ = 0;
        co_return piece();
      }
      if (feed_->finished_) co_return Bytes();
      auto changed = co_await feed_->changed_.wait_for(feed_->heartbeat_);
      if (changed) continue;
      if (!feed_->wants_progress()) co_return Bytes(":\n\n");
      feed_->report({});
    }
  }

 private:
  Bytes piece() {
    Bytes out = event_.substr(at_, kChunk);
    at_ += out.size();
    return out;
  }

  std::shared_ptr<EventFeed> feed_;
  std::string event_;
  std::size_t at_ = 0;
};

void EventFeed::report(std::string_view text) {
  if (!wants_progress() || finished_) return;
  done_ += std::max<std::size_t>(text.size(), 1);
  is_reported_ = false;
  text_ += text;
  if (text_.size() > kMostProgress)
    text_.erase(0, codec::next_boundary(text_, text_.size() - kMostProgress));
  changed_.notify();
}

void EventFeed::finish(std::string message) {
  last_ = std::move(message);
  finished_ = true;
  changed_.notify();
}

std::string EventFeed::take() {
  if (is_reported_) return std::exchange(last_, {});
  is_reported_ = true;
  json::object params{{"progressToken", token_}, {"progress", done_}};
  if (!text_.empty()) params["message"] = codec::text(std::exchange(text_, {}));
  return codec::write(notification("notifications/progress", std::move(params)));
}

std::unique_ptr<ByteSource> EventFeed::source_of(std::shared_ptr<EventFeed> feed) {
  return std::make_unique<FeedSource>(std::move(feed));
}

}  // namespace cay::api::mcp
