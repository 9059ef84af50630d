// TunnelSender: sends the frames of one tunnel session to its client, in order.
//
// Frames of yamux's own wait in yamux.out(). A payload that stays in the kernel is queued behind
// its head, and both go out before what is in yamux.out() then.
#pragma once
#include <deque>
#include <string>

#include "api/langsmith/yamux.h"
#include "async/event.h"
#include "async/kernel_pipe.h"
#include "http/exchange.h"
#include "http/piped_socket.h"

namespace cay::api::langsmith {

class TunnelSender {
 public:
  // `socket` and `yamux` are the session's, and outlive this.
  TunnelSender(http::WebSocket& socket, Yamux& yamux, asio::any_io_executor executor);

  // Sends until the connection breaks.
  asio::awaitable<void> run();
  // Called when something was added to yamux.out().
  void notify();
  // Whether queue() may be called: the client's connection is a plain socket.
  bool can_splice() const { return piped_ != nullptr && piped_->can_splice(); }
  // Queues one frame of data for a stream, behind all of yamux.out().
  void queue(Yamux::Id stream, KernelPipe payload);
  // While it is, streams wait for wait_for_progress().
  bool is_full() const;
  asio::awaitable<void> wait_for_progress() { return sent_.wait(); }
  // Waits until little enough is queued to answer more of the client's frames. Returns false if the
  // connection is broken and too much is left.
  asio::awaitable<bool> wait_for_room();
  // Waits until everything is sent, for a few seconds at most.
  asio::awaitable<void> flush();

 private:
  // To be sent, in this order: yamux's own frames that were due, and a payload behind its head.
  struct Outgoing {
    std::string bytes;
    KernelPipe payload;
  };

  bool is_all_sent() const { return outgoing_.empty() && yamux_.out().empty(); }
  Outgoing take_next();
  Task<void> send(Outgoing next);

  http::WebSocket& socket_;
  http::PipedSocket* piped_;  // the same; null: it is none
  Yamux& yamux_;
  std::deque<Outgoing> outgoing_;  // before what is in yamux_.out()
  std::size_t queued_ = 0;         // bytes of it
  Event to_send_;                  // something is to be sent
  Event sent_;                     // something was
  bool broken_ = false;            // nothing can be sent any more
  bool sending_ = false;
};

}  // namespace cay::api::langsmith
