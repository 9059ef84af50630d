// Tunnels: TCP connections from the daemon to listeners on the sandbox's own loopback
// (keeper/loopback_dial.h). Bytes go both ways under credit. A side that does not read holds up
// only its own connection, and the bytes held for one are bounded.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>

#include "keeper/guest_sockets.h"
#include "keeper/loop.h"
#include "keeper/loopback_dial.h"
#include "keeper/outbox.h"
#include "wire/messages.h"

namespace cay::keeper {

class Tunnels {
 public:
  static constexpr std::size_t kMost = 256;             // connections at once
  static constexpr std::uint64_t kWindow = 128 * 1024;  // bytes held for a guest that does not read
  static constexpr std::int64_t kConnectMs = 8000;
  static constexpr std::int64_t kLingerMs =
      60'000;  // both sides have ended, and the guest takes nothing

  Tunnels(Loop& loop, Outbox& outbox, GuestSockets& sockets)
      : loop_(loop), outbox_(outbox), sockets_(sockets) {}

  // kInvalidArgument invalid_port; kNotReady connect_refused; kDeadlineExceeded connect_timed_out;
  // kExhausted too_many_tunnels; kUnavailable tunnel_failed; once open, kCancelled
  // connection_reset.
  void open(ReplyTo to, const wire::OpenTunnel& request);
  // Hands out the connection itself, for a daemon that carries its bytes: non-blocking, with
  // bounded buffers, reset by the kernel when its last holder closes it or dies (SO_LINGER 0).
  // `ready` comes once, from here or from the loop. Errors as above.
  using OnSocket = std::function<void(Result<UniqueFd>)>;
  void connect(const wire::OpenTunnel& request, OnSocket ready);
  bool has(std::uint32_t channel) const { return flows_.contains(channel); }
  // A frame of the daemon for one of them.
  void on_frame(std::uint32_t channel, wire::Type type, std::string_view payload);
  // The daemon's connection takes more again.
  void pump();
  void cancel_all();

 private:
  struct Flow {
    explicit Flow(Loop& loop) : dial(loop) {}
    ReplyTo to;
    OnSocket ready;  // wants the socket; then `to` is nobody
    std::uint16_t port = 0;
    LoopbackDial dial;
    UniqueFd socket;  // once connected
    Watch watch;
    Timer deadline;  // of the connect; at the end, of the guest's taking the rest
    bool open = false;
    bool over = false;
    // guest -> daemon
    std::uint64_t credit = 0;  // the daemon takes so many bytes
    std::uint64_t offset = 0;
    bool guest_eof = false;
    bool blocked = false;  // the daemon's connection takes nothing now
    // daemon -> guest
    std::uint64_t window = 0;  // it may send so many
    std::uint64_t to_grant = 0;
    std::string out;
    std::size_t out_begin = 0;
    bool daemon_eof = false;
    bool shut = false;  // the guest has our end of the stream
  };
  using FlowPtr = std::shared_ptr<Flow>;

  bool crowded() const { return flows_.size() + connecting_.size() >= kMost; }
  void begin(const FlowPtr& flow, const wire::OpenTunnel& request);
  void hand_over(const FlowPtr& flow);
  void opened(const FlowPtr& flow);
  void on_events(const FlowPtr& flow, std::uint32_t ready);
  void read_some(const FlowPtr& flow);
  void read_rest(const FlowPtr& flow);
  void pass_on(const FlowPtr& flow, std::string_view bytes);
  void flush(const FlowPtr& flow);
  void limit_rest(const FlowPtr& flow);
  void want(const FlowPtr& flow);
  void broken(const FlowPtr& flow, int err);
  void fail(const FlowPtr& flow, const Error& error);
  enum class How { kGracefully, kReset };
  void end(const FlowPtr& flow, How how);

  Loop& loop_;
  Outbox& outbox_;
  GuestSockets& sockets_;
  std::map<std::uint32_t, FlowPtr> flows_;
  std::set<FlowPtr> connecting_;  // for those who want the socket
};

}  // namespace cay::keeper
