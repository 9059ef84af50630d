#include "api/langsmith/yamux.h"

#include <algorithm>
#include <utility>

namespace cay::api::langsmith {
namespace {

constexpr std::size_t kHeaderBytes = 12;

enum Type : std::uint8_t { kData = 0, kWindowUpdate = 1, kPing = 2, kGoAway = 3 };
enum Flag : std::uint16_t { kSyn = 1, kAck = 2, kFin = 4, kRst = 8 };
constexpr std::uint32_t kProtocolError = 1;  // reason of a go-away

std::uint32_t big_endian(const char* bytes, int count) {
  std::uint32_t out = 0;
  for (int i = 0; i < count; ++i) out = (out << 8) | static_cast<std::uint8_t>(bytes[i]);
  return out;
}

}  // namespace

Yamux::Header Yamux::read_header(const char* bytes) {
  Header header;
  header.version = static_cast<std::uint8_t>(bytes[0]);
  header.type = static_cast<std::uint8_t>(bytes[1]);
  header.flags = static_cast<std::uint16_t>(big_endian(bytes + 2, 2));
  header.stream = big_endian(bytes + 4, 4);
  header.length = big_endian(bytes + 8, 4);
  return header;
}

void Yamux::put_header(std::string& to, std::uint8_t type, std::uint16_t flags, Id stream,
                       std::uint32_t length) {
  const auto put = [&to](std::uint32_t value, int count) {
    for (int shift = 8 * (count - 1); shift >= 0; shift -= 8)
      to.push_back(static_cast<char>((value >> shift) & 0xff));
  };
  put(0, 1);
  put(type, 1);
  put(flags, 2);
  put(stream, 4);
  put(length, 4);
}

void Yamux::push(Event::Kind kind, Id stream, std::string_view bytes) {
  events_.push_back({kind, stream, bytes});
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
    const std::size_t take = std::min(bytes.size(), kHeaderBytes - head_.size());
    head_.append(bytes.substr(0, take));
    bytes.remove_prefix(take);
    if (head_.size() < kHeaderBytes) break;
    const Header header = read_header(head_.data());
    head_.clear();
    on_header(header);
  }
  return !broken_;
}

void Yamux::broke() {
  broken_ = true;
  put_header(kGoAway, 0, 0, kProtocolError);
}

void Yamux::on_header(const Header& header) {
  if (header.version != 0 || header.type > kGoAway) return broke();
  if (header.type == kPing) {
    if (header.stream != 0) return broke();
    if ((header.flags & kSyn) != 0) put_header(kPing, kAck, 0, header.length);
    return;
  }
  if (header.type == kGoAway) return push(Event::Kind::kGoAway, 0);
  if (header.stream == 0) return broke();
  if ((header.flags & kSyn) != 0) {
    // The peer's are odd, and never used again.
    if (header.stream % 2 == 0 || !is_fresh(header.stream)) return broke();
    open(header.stream);
  }
  if (header.type == kWindowUpdate) {
    on_window(header);
    return on_flags(header);
  }
  const auto found = streams_.find(header.stream);
  if (found != streams_.end()) {
    Stream& stream = found->second;
    if (header.length > stream.receive_window || (stream.peer_fin && header.length > 0))
      return broke();
    stream.receive_window -= header.length;
    stream.held += header.length;
  }
  // The payload of a stream that is over is drained: it was on its way.
  if (header.length == 0) return on_flags(header);
  frame_ = header;
  left_ = header.length;
}

void Yamux::on_payload(std::string_view bytes) {
  const Header header = *frame_;
  if (streams_.contains(header.stream)) push(Event::Kind::kData, header.stream, bytes);
  if (left_ > 0) return;
  frame_.reset();
  on_flags(header);
}

void Yamux::open(Id id) {
  // Clients number a stream and send its first frame in two steps: of two that are opened at once
  // the later may come first.
  skipped_.erase(id);
  if (id > highest_) {
    std::size_t more = kMostSkipped;
    for (Id before = id; before - highest_ > 2 && more > 0; before -= 2, --more)
      skipped_.insert(before - 2);
    while (skipped_.size() > kMostSkipped) skipped_.erase(skipped_.begin());
    highest_ = id;
  }
  if (streams_.size() >= kMostStreams) return put_header(kWindowUpdate, kRst, id, 0);
  streams_.emplace(id, Stream{});
  put_header(kWindowUpdate, kAck, id, 0);
  push(Event::Kind::kOpened, id);
}

void Yamux::on_window(const Header& header) {
  const auto found = streams_.find(header.stream);
  if (found == streams_.end() || header.length == 0) return;
  std::uint32_t& window = found->second.send_window;
  if (header.length > UINT32_MAX - window) return broke();
  window += header.length;
  push(Event::Kind::kWindow, header.stream);
}

void Yamux::on_flags(const Header& header) {
  const auto found = streams_.find(header.stream);
  if (broken_ || found == streams_.end()) return;
  if ((header.flags & kRst) != 0) {
    forget(found);
    return push(Event::Kind::kReset, header.stream);
  }
  if ((header.flags & kFin) == 0 || found->second.peer_fin) return;
  found->second.peer_fin = true;
  push(Event::Kind::kFin, header.stream);
  forget_if_over(header.stream);
}

std::uint32_t Yamux::sendable(Id stream) const {
  const auto found = streams_.find(stream);
  return found == streams_.end() || found->second.our_fin ? 0 : found->second.send_window;
}

void Yamux::send(Id stream, std::string_view bytes) {
  const auto found = streams_.find(stream);
  if (found == streams_.end() || found->second.our_fin) return;
  bytes = bytes.substr(0, found->second.send_window);
  found->second.send_window -= static_cast<std::uint32_t>(bytes.size());
  while (!bytes.empty()) {
    const std::string_view piece = bytes.substr(0, kMostPayload);
    put_header(kData, 0, stream, static_cast<std::uint32_t>(piece.size()));
    out_ += piece;
    bytes.remove_prefix(piece.size());
  }
}

std::string Yamux::head_of_data(Id stream, std::size_t bytes) {
  std::string head;
  const auto found = streams_.find(stream);
  // The peer drops the bytes of a stream that has ended meanwhile.
  if (found != streams_.end()) found->second.send_window -= static_cast<std::uint32_t>(bytes);
  put_header(head, kData, 0, stream, static_cast<std::uint32_t>(bytes));
  return head;
}

void Yamux::fin(Id stream) {
  const auto found = streams_.find(stream);
  if (found == streams_.end() || found->second.our_fin) return;
  found->second.our_fin = true;
  put_header(kData, kFin, stream, 0);
  forget_if_over(stream);
}

void Yamux::reset(Id stream) {
  const auto found = streams_.find(stream);
  if (found == streams_.end()) return;
  forget(found);
  put_header(kWindowUpdate, kRst, stream, 0);
}

void Yamux::consumed(Id id, std::size_t bytes) {
  const auto found = streams_.find(id);
  if (found == streams_.end() || found->second.peer_fin) return;
  Stream& stream = found->second;
  stream.held -= static_cast<std::uint32_t>(std::min<std::size_t>(bytes, stream.held));
  stream.moved += bytes;
  if (stream.most == kWindow && stream.moved >= kWorthWide && wide_ < kMostWide) {
    stream.most = kWideWindow;
    ++wide_;
  }
  const std::uint32_t to_grant = stream.most - stream.receive_window - stream.held;
  if (to_grant < stream.most / 4) return;
  stream.receive_window += to_grant;
  put_header(kWindowUpdate, 0, id, to_grant);
}

void Yamux::forget(std::map<Id, Stream>::iterator at) {
  if (at->second.most == kWideWindow) --wide_;
  streams_.erase(at);
}

void Yamux::forget_if_over(Id id) {
  const auto found = streams_.find(id);
  if (found != streams_.end() && found->second.peer_fin && found->second.our_fin) forget(found);
}

}  // namespace cay::api::langsmith
