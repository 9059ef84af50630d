#include "api/langsmith/yamux.h"

#include <algorithm>
#include <utility>

namespace cay::api::langsmith {

void Yamux::queue(YamuxHeader::Type type, std::uint16_t flags, Id stream, std::uint32_t length) {
  append_yamux_header(out_, {.type = type, .flags = flags, .stream = stream, .length = length});
}

std::optional<Yamux::Event> Yamux::next() {
  if (events_.empty()) return std::nullopt;
  const Event event = events_.front();
  events_.pop_front();
  return event;
}

bool Yamux::feed(std::string_view bytes) {
  while (!broken_ && !bytes.empty()) {
    if (left_ > 0) {
      const std::string_view piece = bytes.substr(0, left_);
      bytes.remove_prefix(piece.size());
      left_ -= static_cast<std::uint32_t>(piece.size());
      on_payload(piece);
      continue;
    }
    const std::size_t take = std::min(bytes.size(), YamuxHeader::kBytes - head_.size());
    head_.append(bytes.substr(0, take));
    bytes.remove_prefix(take);
    if (head_.size() < YamuxHeader::kBytes) break;
    const YamuxHeader header = read_yamux_header(head_.data());
    head_.clear();
    on_header(header);
  }
  return !broken_;
}

void Yamux::broke() {
  broken_ = true;
  queue(YamuxHeader::kGoAway, 0, 0, YamuxHeader::kProtocolError);
}

void Yamux::on_header(const YamuxHeader& header) {
  if (header.version != 0 || header.type > YamuxHeader::kGoAway) return broke();
  if (header.type == YamuxHeader::kPing) {
    if (header.stream != 0) return broke();
    if ((header.flags & YamuxHeader::kSyn) != 0)
      queue(YamuxHeader::kPing, YamuxHeader::kAck, 0, header.length);
    return;
  }
  if (header.type == YamuxHeader::kGoAway) {
    events_.push_back({Event::Kind::kGoAway, 0, {}});
    return;
  }
  if (header.stream == 0) return broke();
  if ((header.flags & YamuxHeader::kSyn) != 0) {
    if (!ids_.use(header.stream)) return broke();
    open(header.stream);
  }
  if (header.type == YamuxHeader::kWindowUpdate) {
    on_window(header);
    return on_flags(header);
  }
  auto* const stream = streams_.find(header.stream);
  if (stream != nullptr && !stream->receive(header.length)) return broke();
  // The payload of a stream that is over is drained: it was on its way.
  if (header.length == 0) return on_flags(header);
  frame_ = header;
  left_ = header.length;
}

void Yamux::on_payload(std::string_view bytes) {
  const YamuxHeader header = *frame_;
  if (streams_.find(header.stream) != nullptr)
    events_.push_back({Event::Kind::kData, header.stream, bytes});
  if (left_ > 0) return;
  frame_.reset();
  on_flags(header);
}

void Yamux::open(Id id) {
  if (!streams_.open(id)) return queue(YamuxHeader::kWindowUpdate, YamuxHeader::kRst, id, 0);
  queue(YamuxHeader::kWindowUpdate, YamuxHeader::kAck, id, 0);
  events_.push_back({Event::Kind::kOpened, id, {}});
}

void Yamux::on_window(const YamuxHeader& header) {
  auto* const stream = streams_.find(header.stream);
  if (stream == nullptr || header.length == 0) return;
  if (header.length > UINT32_MAX - stream->send_window) return broke();
  stream->send_window += header.length;
  events_.push_back({Event::Kind::kWindow, header.stream, {}});
}

void Yamux::on_flags(const YamuxHeader& header) {
  auto* const stream = streams_.find(header.stream);
  if (broken_ || stream == nullptr) return;
  if ((header.flags & YamuxHeader::kRst) != 0) {
    streams_.forget(header.stream);
    events_.push_back({Event::Kind::kReset, header.stream, {}});
    return;
  }
  if ((header.flags & YamuxHeader::kFin) == 0 || stream->peer_fin) return;
  stream->peer_fin = true;
  events_.push_back({Event::Kind::kFin, header.stream, {}});
  streams_.forget_if_over(header.stream);
}

std::uint32_t Yamux::sendable(Id id) const {
  const auto* const stream = streams_.find(id);
  return stream == nullptr || stream->our_fin ? 0 : stream->send_window;
}

void Yamux::send(Id id, std::string_view bytes) {
  auto* const stream = streams_.find(id);
  if (stream == nullptr || stream->our_fin) return;
  bytes = bytes.substr(0, stream->send_window);
  stream->send_window -= static_cast<std::uint32_t>(bytes.size());
  while (!bytes.empty()) {
    const std::string_view piece = bytes.substr(0, kMostPayload);
    queue(YamuxHeader::kData, 0, id, static_cast<std::uint32_t>(piece.size()));
    out_ += piece;
    bytes.remove_prefix(piece.size());
  }
}

std::string Yamux::head_of_data(Id id, std::size_t bytes) {
  const auto length = static_cast<std::uint32_t>(bytes);
  // The peer drops the bytes of a stream that has ended meanwhile.
  if (auto* const stream = streams_.find(id)) stream->send_window -= length;
  std::string head;
  append_yamux_header(head, {.type = YamuxHeader::kData, .stream = id, .length = length});
  return head;
}

void Yamux::fin(Id id) {
  auto* const stream = streams_.find(id);
  if (stream == nullptr || stream->our_fin) return;
  stream->our_fin = true;
  queue(YamuxHeader::kData, YamuxHeader::kFin, id, 0);
  streams_.forget_if_over(id);
}

void Yamux::reset(Id id) {
  if (streams_.find(id) == nullptr) return;
  streams_.forget(id);
  queue(YamuxHeader::kWindowUpdate, YamuxHeader::kRst, id, 0);
}

void Yamux::consumed(Id id, std::size_t bytes) {
  auto* const stream = streams_.find(id);
  if (stream == nullptr || stream->peer_fin) return;
  const std::uint32_t grant = streams_.consume(*stream, bytes);
  if (grant > 0) queue(YamuxHeader::kWindowUpdate, 0, id, grant);
}

}  // namespace cay::api::langsmith
