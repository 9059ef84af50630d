// TunnelSession: one client's tunnel. Streams are served side by side. The reading side never waits
// for a stream, so one that stalls holds up no other. The bytes held for a stream are bounded by
// its window. If both ends are plain sockets, a program's bytes stay in the kernel, behind a
// frame's head of ours. A client's bytes go to the program from where they were read, unless it
// does not take them at once.
#pragma once
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "api/langsmith/yamux.h"
#include "async/direct_write.h"
#include "async/event.h"
#include "async/piped.h"
#include "async/scope.h"
#include "core/cay.h"
#include "core/ports/tunnel.h"
#include "http/exchange.h"
#include "http/piped_socket.h"
#include "model/principal.h"

namespace cay::api::langsmith {

class TunnelSession {
 public:
  static constexpr Millis kHeaderLimit{30'000};  // for the port that a new stream names
  // A client that has ended its side takes nothing more, though it may never report that. The bytes
  // that the program inside still sends must get on within this time.
  static constexpr Millis kLinger{30'000};

  TunnelSession(core::Cay& cay, Principal who, std::string ref,
                std::unique_ptr<http::WebSocket> socket, asio::any_io_executor executor);

  // Called for each connection that is made to a port.
  std::function<void(std::uint16_t port)> on_port;
  // Until the client goes, or breaks the protocol.
  asio::awaitable<void> run();

 private:
  struct Flow {
    Flow(Yamux::Id stream, const asio::any_io_executor& executor)
        : id(stream), changed(executor), credited(executor) {}
    Yamux::Id id;
    std::deque<std::string> inbox;
    DirectWrite* direct =
        nullptr;             // the program's connection, if bytes may go into it past the inbox
    bool writing = false;    // something of the inbox is on its way
    bool fin = false;        // the client sends no more
    bool reset = false;      // the client gave the stream up
    bool down_over = false;  // the program's side has come to its end, or broke
    Result<void> down;
    std::uint64_t moved = 0;  // bytes to the client
    Event changed;
    Event credited;  // by the client, or given up
  };
  // To be sent, in this order: yamux's own frames that were due, and a payload behind its head.
  struct Outgoing {
    std::string bytes;
    KernelPipe payload;
  };
  using FlowPtr = std::shared_ptr<Flow>;

  asio::awaitable<void> read_in();
  asio::awaitable<void> write_out();
  asio::awaitable<void> say_all();
  asio::awaitable<bool> feed_some();
  void fit_buffer();
  Task<void> send(Outgoing next);
  void take(const Yamux::Event& event);
  void take_data(Flow& flow, std::string_view bytes);
  asio::awaitable<void> serve(FlowPtr flow);
  Task<void> converse(FlowPtr flow);
  Task<std::string> read_request(FlowPtr flow);
  Task<void> up(FlowPtr flow, core::Tunnel& tunnel);
  Task<void> up_and_linger(FlowPtr flow, core::Tunnel& tunnel);
  asio::awaitable<void> down(FlowPtr flow, core::Tunnel& tunnel);
  Task<void> pump_down(FlowPtr flow, core::Tunnel& tunnel);
  Task<void> copy_down(FlowPtr flow, core::Tunnel& tunnel);
  Task<void> pipe_down(FlowPtr flow, PipedStream& kernels);
  Task<void> until_sendable(FlowPtr flow);
  void went_down(Flow& flow, std::size_t bytes);
  std::size_t queued() const { return queued_ + yamux_.out().size(); }
  bool all_said() const { return outgoing_.empty() && yamux_.out().empty(); }

  core::Cay& cay_;
  Principal who_;
  std::string ref_;
  std::unique_ptr<http::WebSocket> socket_;
  http::PipedSocket* piped_;  // the same; null: it is none
  asio::any_io_executor executor_;
  Yamux yamux_;
  std::map<Yamux::Id, FlowPtr> flows_;
  std::string buffer_;             // what is read from the client
  std::size_t read_ = 0;           // of it, the last time
  int small_in_a_row_ = 0;         // ... which a small one would do for
  std::deque<Outgoing> outgoing_;  // before what is in yamux_.out()
  std::size_t queued_ = 0;         // bytes of it
  Event to_say_;                   // something is to be sent
  Event said_;                     // something was
  bool mute_ = false;              // nothing can be sent any more
  bool writing_ = false;
  Scope work_;
};

}  // namespace cay::api::langsmith
