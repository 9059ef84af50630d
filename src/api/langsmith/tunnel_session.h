// TunnelSession: one client's tunnel. Streams are served side by side; the reading side never waits for
// a stream, so one that stalls holds up no other. What is held for a stream is bounded by its window.
#pragma once
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>

#include "api/langsmith/yamux.h"
#include "async/event.h"
#include "async/scope.h"
#include "core/cay.h"
#include "http/exchange.h"

namespace cay::api::langsmith {

class TunnelSession {
 public:
  static constexpr Millis kHeaderLimit{30'000};  // for the port that a new stream names
  // A client that has ended its side takes nothing more, though it may never say so: what the program
  // inside still sends must get on within this time.
  static constexpr Millis kLinger{30'000};

  TunnelSession(core::Cay& cay, Principal who, std::string ref, std::unique_ptr<http::WebSocket> socket,
                asio::any_io_executor executor);

  // Until the client goes, or breaks the protocol.
  asio::awaitable<void> run();

 private:
  struct Flow {
    Flow(Yamux::Id stream, const asio::any_io_executor& executor) : id(stream), changed(executor) {}
    Yamux::Id id;
    std::deque<std::string> inbox;
    bool fin = false;        // the client sends no more
    bool reset = false;      // the client gave the stream up
    bool down_over = false;  // the program's side is told to its end, or broke
    Result<void> down;
    std::uint64_t moved = 0; // bytes to the client
    Event changed;
  };
  using FlowPtr = std::shared_ptr<Flow>;

  asio::awaitable<void> read_in();
  asio::awaitable<void> write_out();
  asio::awaitable<void> say_all();
  void take(Yamux::Event event);
  asio::awaitable<void> serve(FlowPtr flow);
  Task<void> converse(FlowPtr flow);
  Task<std::string> read_request(FlowPtr flow);
  Task<void> up(FlowPtr flow, core::Tunnel& tunnel);
  Task<void> up_and_linger(FlowPtr flow, core::Tunnel& tunnel);
  asio::awaitable<void> down(FlowPtr flow, core::Tunnel& tunnel);
  Task<void> pump_down(FlowPtr flow, core::Tunnel& tunnel);
  asio::awaitable<void> room();

  core::Cay& cay_;
  Principal who_;
  std::string ref_;
  std::unique_ptr<http::WebSocket> socket_;
  asio::any_io_executor executor_;
  Yamux yamux_;
  std::map<Yamux::Id, FlowPtr> flows_;
  Event out_changed_;  // something is to be sent, or something was
  bool writing_ = false;
  Scope work_;
};

}  // namespace cay::api::langsmith
