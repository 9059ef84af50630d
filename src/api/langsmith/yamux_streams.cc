#include "api/langsmith/yamux_streams.h"

#include <algorithm>

namespace cay::api::langsmith {

bool YamuxStreams::Stream::receive(std::uint32_t bytes) {
  if (bytes > receive_window || (peer_fin && bytes > 0)) return false;
  receive_window -= bytes;
  held += bytes;
  return true;
}

bool YamuxStreams::open(std::uint32_t id) {
  if (streams_.size() >= kMost) return false;
  streams_.emplace(id, Stream{});
  return true;
}

YamuxStreams::Stream* YamuxStreams::find(std::uint32_t id) {
  const auto found = streams_.find(id);
  return found == streams_.end() ? nullptr : &found->second;
}

const YamuxStreams::Stream* YamuxStreams::find(std::uint32_t id) const {
  const auto found = streams_.find(id);
  return found == streams_.end() ? nullptr : &found->second;
}

void YamuxStreams::forget(std::uint32_t id) {
  const auto found = streams_.find(id);
  if (found == streams_.end()) return;
  if (found->second.most == kWideWindow) --wide_;
  streams_.erase(found);
}

void YamuxStreams::forget_if_over(std::uint32_t id) {
  const Stream* stream = find(id);
  if (stream != nullptr && stream->peer_fin && stream->our_fin) forget(id);
}

std::uint32_t YamuxStreams::consume(Stream& stream, std::size_t bytes) {
  stream.held -= static_cast<std::uint32_t>(std::min<std::size_t>(bytes, stream.held));
  stream.moved += bytes;
  if (stream.most == kWindow && stream.moved >= kWorthWide && wide_ < kMostWide) {
    stream.most = kWideWindow;
    ++wide_;
  }
  const std::uint32_t to_grant = stream.most - stream.receive_window - stream.held;
  if (to_grant < stream.most / 4) return 0;
  stream.receive_window += to_grant;
  return to_grant;
}

}  // namespace cay::api::langsmith
