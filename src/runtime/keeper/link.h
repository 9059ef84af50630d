// Link: one connected stream socket (UNIX or TCP) that speaks frames. It owns the reading and the
// writing side, and hands frames to channels. Every length and every queue is bounded: a peer that
// breaks a rule loses the link, and everything that waited on it gets the reason.
#pragma once
#include <boost/asio/generic/stream_protocol.hpp>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "async/task.h"
#include "base/unique_fd.h"
#include "runtime/keeper/deadline.h"
#include "wire/frame.h"
#include "wire/messages.h"

namespace cay::runtime {

using StreamSocket = asio::generic::stream_protocol::socket;

class Channel;

class Link : public std::enable_shared_from_this<Link> {
 public:
  // Payload bytes of non-DATA frames that may wait in one channel. DATA is bounded by credit.
  static constexpr std::size_t kMaxInbox = 4 << 20;
  // Bytes that wait to be written before room() makes senders wait.
  static constexpr std::size_t kQueueRoom = 1 << 20;

  // `peer` is for messages: "the sandbox's keeper". Reading begins at once. Held by shared_ptr: the
  // operations under way on the socket keep it alive.
  static std::shared_ptr<Link> start(StreamSocket socket, std::string peer);

  ~Link();
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;

  // Sends our HELLO and waits for theirs. kUnsupported (protocol_version) if there is no common
  // version; kUnavailable (no_hello) at the limit. With a key, both sides then prove that they hold
  // it (wire/hello_proof.h): kConflict (peer_not_proved) if the peer's proof is wrong.
  Task<wire::Hello> greet(wire::Hello ours, Millis limit, std::string key = {});

  // A new channel, numbered from 1. On a dead link, one that fails with the link's reason.
  std::unique_ptr<Channel> open();

  bool alive() const { return alive_; }
  // The peer closed it, though there may be more to be read.
  bool hung_up();
  // Why it is not alive.
  const Error& why() const { return why_; }
  // Whether the peer broke the protocol (rather than went away).
  bool broke_protocol() const { return broke_protocol_; }

  // The peer broke a rule: closes with kInternal (protocol_error).
  void breach(std::string what);
  // Ends it: every channel fails with `why`.
  void close(Error why);
  // Returns once the link is closed.
  asio::awaitable<void> closed();
  // Announces our end to the peer: channels that close from now on close because of it.
  void part();

  // Frames on channel 0 after the HELLO. Called on the loop.
  void on_event(std::function<void(const wire::Frame&)> handler) { on_event_ = std::move(handler); }

 private:
  friend class Channel;

  struct ChannelState {
    explicit ChannelState(asio::any_io_executor loop) : changed(std::move(loop)) {}
    std::uint32_t number = 0;
    std::deque<wire::Frame> inbox;
    std::size_t uncredited = 0;  // payload bytes of non-DATA frames in the inbox
    std::uint64_t credit = 0;    // payload bytes the peer may still send as DATA
    bool overflow = false;       // the peer sent more than kMaxInbox
    UniqueFd passed;             // came with the last kBulk; empty: no descriptor was free for it
    Event changed;
  };

  Link(StreamSocket socket, std::string peer);
  bool parting_ = false;
  void send(wire::Type type, std::uint32_t channel, std::string payload);
  // Queues a frame, which goes out in one write with the next one that is sent.
  void queue(wire::Type type, std::uint32_t channel, std::string payload);
  bool has_room() const { return queued_ < kQueueRoom; }
  void write_more();
  void read_more();
  void take(wire::Frame frame);
  void take_hello(const wire::Frame& frame);
  Task<void> prove(std::string key, std::string our_hello, Deadline deadline);

  StreamSocket socket_;
  std::string peer_;
  wire::FrameReader reader_;
  std::vector<UniqueFd> passed_;     // came beside the bytes, for the next frames that have one
  std::vector<std::string> queue_;   // encoded, waiting
  std::vector<std::string> flying_;  // encoded, being written
  std::size_t queued_ = 0;           // bytes in both
  bool writing_ = false;
  bool alive_ = true;
  bool broke_protocol_ = false;
  Error why_;
  std::optional<wire::Hello> theirs_;
  std::string their_hello_;  // its payload
  bool awaits_proof_ = false;
  std::optional<wire::Proof> their_proof_;
  std::uint32_t next_channel_ = 1;
  std::unordered_map<std::uint32_t, std::shared_ptr<ChannelState>> channels_;
  std::function<void(const wire::Frame&)> on_event_;
  Event changed_;  // HELLO came, room in the queue, or closed
};

}  // namespace cay::runtime
