// Connection: one stream socket (UNIX or TCP) with frames on it. Its output has two bounds.
// Producers of much check room() first. Past a harder limit, which only answers can reach, nothing
// more is read. Below that limit reading goes on, so that a peer that writes before it reads
// (credit, cancellations) is not locked out.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>

#include "base/unique_fd.h"
#include "keeper/loop.h"
#include "keeper/out_buffer.h"
#include "wire/frame.h"
#include "wire/messages.h"

namespace cay::keeper {

class Connection {
 public:
  struct Events {
    std::function<void(wire::Frame)> on_frame;
    std::function<void()> on_room;   // room() is true again
    std::function<void()> on_close;  // the peer is gone or spoke nonsense; drop the connection
  };

  Connection(Loop& loop, UniqueFd fd, Events events);

  void send(wire::Type type, std::uint32_t channel, std::string_view payload);
  void send_data(std::uint32_t channel, const wire::Data& data);
  // A frame with a descriptor beside it.
  void send_with(UniqueFd descriptor, wire::Type type, std::uint32_t channel,
                 std::string_view payload);
  // false: frames from now on may wait for others, kPatienceMs at most.
  void hurry(bool on) { hurried_ = on; }
  bool room() const { return out_.size() < kHighWater; }
  // The longest frame that the peer may send, from its next one on. At first kMaxStartPayload.
  void allow(std::uint32_t most_payload) { reader_.allow(most_payload); }
  // Nothing more is read; on_close comes once all was sent, or the peer is gone.
  void close_after_flush();
  // Whether everything was handed to the kernel.
  bool flushed() const { return out_.empty(); }
  int fd() const { return fd_.get(); }

 private:
  static constexpr std::size_t kHighWater = 512 * 1024;
  static constexpr std::size_t kHardLimit = 4 * 1024 * 1024;
  static constexpr std::int64_t kPatienceMs = 2;

  void head(wire::Type type, std::uint32_t channel, std::size_t payload);
  void schedule_flush();
  void flush_before_sleep();
  void rewatch();
  bool reads() const { return !ending_ && out_.size() < kHardLimit; }
  void flush();
  void send_queued();
  void read_some();
  void process();
  void closed();

  Loop& loop_;
  UniqueFd fd_;
  Events events_;
  wire::FrameReader reader_{wire::kMaxStartPayload};
  OutBuffer out_;
  bool full_ = false;  // room() was false, and on_room is due
  bool ending_ = false;
  bool dead_ = false;
  bool processing_ = false;
  bool flushing_ = false;
  bool flush_due_ = false;  // before the loop sleeps
  bool blocked_ = false;    // the socket takes no more for now
  bool hurried_ = true;
  Timer patience_;
  Watch watch_;
  std::shared_ptr<bool> here_ = std::make_shared<bool>(true);
};

}  // namespace cay::keeper
