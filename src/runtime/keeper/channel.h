// Channel: one request on a Link and its answers. Destroying an unfinished one sends the peer
// kCancel, so a cancelled coroutine gives its request up by unwinding.
#pragma once
#include <memory>
#include <optional>
#include <string>

#include "runtime/keeper/link.h"

namespace cay::runtime {

class Channel {
 public:
  ~Channel();
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  // Queues one frame; never waits. For DATA of any size use room() first.
  void send(wire::Type type, std::string payload);
  template <wire::Message M>
  void send(wire::Type type, const M& message) {
    send(type, wire::encode(message));
  }

  // As send(), in one write with the next frame that any channel of the link sends.
  void send_with_next(wire::Type type, std::string payload);

  // Waits until the link's queue has room. kUnavailable (keeper_stalled) at the limit.
  Task<void> room(Millis limit);

  // Allows the peer so many more payload bytes of DATA. kNo: the request itself has announced them.
  enum class Announce { kYes, kNo };
  void grant(std::uint64_t bytes, Announce announce = Announce::kYes);

  // The next frame. A kError frame is returned as its Error and finishes the channel, as does the
  // loss of the link (kUnavailable, link_lost). No answer by the deadline: kUnavailable
  // (no_answer). A frame of DATA was charged against what grant() allowed.
  Task<wire::Frame> next(Deadline deadline);

  // A frame that has come already. Errors as next().
  Result<std::optional<wire::Frame>> poll();

  // The descriptor that came with the last kBulk; empty: none was free for it.
  UniqueFd take_passed() { return std::move(state_->passed); }

  // Returns when something may have come, or the link was lost: look with poll(). For those who
  // share a channel; every one of them is woken.
  asio::awaitable<void> changed();
  void wake();  // those who wait there

  // Gives the request up in one write with the next frame that any channel of the link sends.
  void cancel_with_next();

  // The peer's last word came: no kCancel is needed.
  void finish();

  Link& link() { return *link_; }

 private:
  friend class Link;
  Channel(std::shared_ptr<Link> link, std::shared_ptr<Link::ChannelState> state);

  std::shared_ptr<Link> link_;
  std::shared_ptr<Link::ChannelState> state_;
  bool finished_ = false;
};

// Converts a peer's kError. A code that is none of ours becomes kInternal.
Error to_error(wire::ErrorMsg message);

// Decodes a frame's payload as M if its type is `type`. Otherwise kInternal (protocol_error), which
// the caller returns.
Error unexpected_frame(const wire::Frame& frame, std::string_view wanted);

template <wire::Message M>
Result<M> decode_as(const wire::Frame& frame, wire::Type type, std::string_view wanted) {
  if (frame.type != static_cast<std::uint16_t>(type)) return unexpected_frame(frame, wanted);
  auto message = wire::decode<M>(frame.payload);
  if (!message) return unexpected_frame(frame, wanted);
  return std::move(*message);
}

inline bool is(const wire::Frame& frame, wire::Type type) {
  return frame.type == static_cast<std::uint16_t>(type);
}

}  // namespace cay::runtime
