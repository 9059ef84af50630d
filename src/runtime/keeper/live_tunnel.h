// LiveTunnel: the Tunnel port over a channel to the keeper, under credit both ways.
#pragma once
#include <deque>
#include <memory>

#include "core/ports/tunnel.h"
#include "runtime/keeper/channel.h"
#include "runtime/keeper/persistent_link.h"

namespace cay::runtime {

class LiveTunnel final : public core::Tunnel {
 public:
  // Payload bytes that may be on the way or waiting here, from the keeper.
  static constexpr std::uint64_t kWindow = 256 * 1024;

  // Connects. kNotReady (connect_refused), kDeadlineExceeded (connect_timed_out), kExhausted
  // (too_many_tunnels); kUnsupported if the sandbox's keeper is of an older release.
  static Task<std::unique_ptr<core::Tunnel>> open(std::shared_ptr<PersistentLink> line,
                                                  std::uint16_t port);

  // One that both sides have ended goes on by itself until the program inside has taken all that
  // was written; any other is broken off.
  ~LiveTunnel() override;

  Task<Bytes> read() override;
  Task<void> write(Bytes bytes) override;
  Task<void> shut_write() override;
  void break_off(Error why) override;

 private:
  LiveTunnel(std::unique_ptr<Channel> channel, std::uint64_t allowed)
      : channel_(std::move(channel)), allowed_(allowed) {}
  // All that has come. Reader and writer share the channel: whoever looks, sorts for both.
  Result<void> sort();
  Result<void> sort(wire::Frame frame);
  Error breach(const std::string& what);

  std::unique_ptr<Channel> channel_;
  std::deque<Bytes> inbox_;
  std::uint64_t offset_ = 0;   // of the next byte to come
  std::uint64_t owed_ = 0;     // read and not granted again yet
  std::uint64_t allowed_ = 0;  // bytes the keeper takes
  std::uint64_t sent_ = 0;
  bool ended_ = false;  // the far side's end came
  bool shut_ = false;
  std::optional<Error> broken_;
  bool broken_off_ = false;  // by ourselves: received bytes are not wanted either
};

}  // namespace cay::runtime
