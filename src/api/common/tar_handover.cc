// The parser wakes the loop only when it can do no more (no input, no room, the end): a wake-up
// across threads costs more than parsing a header. No wake-up is lost. What turn() did not see
// under the mutex is posted later, so the loop runs it after changed() began to wait.
#include "api/common/tar_handover.h"

#include "core/ports/runtime.h"

#include <boost/asio/post.hpp>

namespace cay::api {
namespace {

constexpr std::size_t kMostEvents = 256;
constexpr std::size_t kMostBytes = 256 * 1024;

std::size_t weight(const core::TreeEvent& event) {
  if (const auto* bytes = std::get_if<Bytes>(&event)) return bytes->size();
  const FileInfo& info = std::get<core::TreeEntry>(event).info;
  return info.path.size() + info.target.size();
}

core::TreeEvent tree_event(archive::TarEvent event) {
  if (auto* bytes = std::get_if<std::string>(&event)) return std::move(*bytes);
  return core::TreeEntry{std::get<FileInfo>(std::move(event))};
}

}  // namespace

TarHandover::TarHandover(asio::any_io_executor loop)
    : loop_(loop), event_(std::make_shared<Event>(std::move(loop))) {}

TarHandover::Turn TarHandover::turn() {
  const std::lock_guard lock(mutex_);
  if (!events_.empty()) return Turn::kTake;
  if (result_) return Turn::kEnded;
  return hungry_ ? Turn::kFeed : Turn::kWait;
}

core::TreeEvent TarHandover::take() {
  const std::lock_guard lock(mutex_);
  core::TreeEvent event = std::move(events_.front());
  events_.pop_front();
  event_bytes_ -= weight(event);
  if (events_.empty()) parser_.notify_one();
  return event;
}

void TarHandover::feed(Bytes input) {
  const std::lock_guard lock(mutex_);
  input_ = std::move(input);
  hungry_ = false;
  parser_.notify_one();
}

asio::awaitable<void> TarHandover::changed() { co_await event_->wait(); }

Result<void> TarHandover::result() {
  const std::lock_guard lock(mutex_);
  return *result_;
}

void TarHandover::close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  parser_.notify_one();
}

std::optional<Bytes> TarHandover::pull() {
  std::unique_lock lock(mutex_);
  if (!closed_) {
    hungry_ = true;
    wake();
  }
  parser_.wait(lock, [this] { return closed_ || input_.has_value(); });
  if (closed_) return std::nullopt;
  return std::exchange(input_, std::nullopt);
}

bool TarHandover::push(archive::TarEvent parsed) {
  core::TreeEvent event = tree_event(std::move(parsed));
  std::unique_lock lock(mutex_);
  if (!closed_ && (events_.size() >= kMostEvents || event_bytes_ >= kMostBytes)) {
    wake();
    parser_.wait(lock, [this] { return closed_ || events_.empty(); });
  }
  if (closed_) return false;
  event_bytes_ += weight(event);
  events_.push_back(std::move(event));
  return true;
}

void TarHandover::finish(Result<void> result) {
  const std::lock_guard lock(mutex_);
  result_ = std::move(result);
  if (!closed_) wake();
}

void TarHandover::wake() {
  asio::post(loop_, [event = event_] { event->notify(); });
}

}  // namespace cay::api
