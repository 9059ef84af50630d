// TunnelFlow: one yamux stream of a tunnel session and its connection to a program inside.
//
// If both ends are plain sockets, the program's bytes stay in the kernel, behind a frame's head of
// ours. The client's bytes go to the program from where they were read, unless it does not take
// them at once. The bytes held for a stream are bounded by its window.
#pragma once
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "api/langsmith/tunnel_sender.h"
#include "api/langsmith/yamux.h"
#include "async/direct_write.h"
#include "async/event.h"
#include "async/piped.h"
#include "core/ports/tunnel.h"

namespace cay::api::langsmith {

class TunnelFlow {
 public:
  static constexpr Millis kHeaderLimit{30'000};  // for the port that a new stream names
  // A client that has ended its side takes nothing more, though it may never report that. The bytes
  // that the program inside still sends must get on within this time.
  static constexpr Millis kLinger{30'000};

  // Connects to a port of the sandbox.
  using OpenPort = std::function<Task<std::unique_ptr<core::Tunnel>>(std::uint16_t port)>;

  // `yamux` and `sender` are the session's, and outlive this.
  TunnelFlow(Yamux::Id stream, Yamux& yamux, TunnelSender& sender, asio::any_io_executor executor);
  TunnelFlow(const TunnelFlow&) = delete;
  TunnelFlow& operator=(const TunnelFlow&) = delete;

  // Reads the port, connects to it and relays bytes until both sides have ended. Fails if the
  // stream has to be reset. The caller keeps this alive until it has returned.
  Task<void> run(OpenPort open);

  // The client's events on the stream.
  void on_data(std::string_view bytes);
  void on_window() { credited_.notify(); }
  void on_fin();
  void on_reset();

 private:
  Task<std::string> read_request();
  Task<void> relay(core::Tunnel& tunnel);
  Task<void> write_to_program(core::Tunnel& tunnel);
  Task<void> write_and_linger(core::Tunnel& tunnel);
  asio::awaitable<void> send_to_client(core::Tunnel& tunnel);
  Task<void> send_until_end(core::Tunnel& tunnel);
  Task<void> copy_to_client(core::Tunnel& tunnel);
  Task<void> splice_to_client(PipedStream& program);
  Task<void> wait_until_sendable();
  void count_sent(std::size_t bytes);

  const Yamux::Id id_;
  Yamux& yamux_;
  TunnelSender& sender_;
  asio::any_io_executor executor_;
  std::deque<std::string> inbox_;  // from the client
  DirectWrite* direct_ = nullptr;  // the program's connection, if bytes may go into it past inbox_
  bool writing_ = false;           // something of inbox_ is on its way
  bool fin_ = false;               // the client sends no more
  bool reset_ = false;             // the client gave the stream up
  bool program_over_ = false;      // the program's side has come to its end, or broke
  Result<void> program_end_;
  std::uint64_t sent_ = 0;  // bytes to the client
  Event changed_;
  Event credited_;  // by the client, or given up
};

}  // namespace cay::api::langsmith
