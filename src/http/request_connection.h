// RequestConnection: a client's connection during one request. The reader of the request's body and
// the writer of its response share it.
#pragma once
#include <utility>

#include "http/channel.h"
#include "http/listener.h"

namespace cay::http {

class RequestConnection {
 public:
  RequestConnection(Channel& channel, const ListenerConfig& config, bool keep_alive)
      : channel_(&channel), config_(config), keep_alive_(keep_alive) {}

  const ListenerConfig& config() const { return config_; }
  // True after detach() and take(). channel(), transport() and take() are then not to be called.
  bool is_gone() const { return channel_ == nullptr; }
  Channel& channel() { return *channel_; }
  Transport& transport() { return channel_->next_layer(); }
  // Called when the request is over: reading its body and writing its response fail from then on.
  void detach() { channel_ = nullptr; }
  // Returns the channel, for a protocol that follows HTTP on it.
  Channel take() { return std::move(*std::exchange(channel_, nullptr)); }

  bool keep_alive() const { return keep_alive_; }
  // The connection ends after this request.
  void close_after() { keep_alive_ = false; }
  // Called when the right that let the caller in has ended: no more of the body is read, and the
  // connection ends with the response.
  void break_off();
  bool is_broken_off() const { return broken_off_; }
  // The peer sees a reset, so that a short answer cannot pass for a whole one.
  void reset();

 private:
  Channel* channel_;  // null: gone
  const ListenerConfig& config_;
  bool keep_alive_;
  bool broken_off_ = false;
};

inline Error client_gone() {
  return {Code::kCancelled, "client_gone", "the client's connection has ended", 0};
}

}  // namespace cay::http
