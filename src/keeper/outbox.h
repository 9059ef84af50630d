// Outbox: the destination of answers: the present connection of the daemon, or nowhere. Bounded: a
// producer of much checks room() first, and on_room is called when there is some again.
#pragma once
#include <cstdint>
#include <string>

#include "base/error.h"
#include "base/unique_fd.h"
#include "wire/frame.h"
#include "wire/messages.h"

namespace cay::keeper {

// One request: a channel of one connection. Answers to a connection that is gone are dropped.
struct ReplyTo {
  std::uint64_t connection = 0;
  std::uint32_t channel = 0;
  auto operator<=>(const ReplyTo&) const = default;
};

class Outbox {
 public:
  virtual ~Outbox() = default;
  virtual void send(ReplyTo to, wire::Type type, std::string payload) = 0;
  // A DATA frame without a copy of the bytes more than needed.
  virtual void send_data(ReplyTo to, const wire::Data& data) = 0;
  // A frame with a descriptor beside it.
  virtual void send_with(UniqueFd descriptor, ReplyTo to, wire::Type type) = 0;
  virtual bool room() const = 0;
  // false: frames from now on may wait a little for others, so that they go out together.
  virtual void hurry(bool /*on*/) {}
  // A word on channel 0 to whoever is the daemon now.
  virtual void event(wire::Type /*type*/, const std::string& /*payload*/) {}

  template <wire::Message T>
  void send(ReplyTo to, wire::Type type, const T& message) {
    send(to, type, wire::encode(message));
  }
  void ok(ReplyTo to) { send(to, wire::Type::kOk, std::string()); }
  void fail(ReplyTo to, const Error& error) {
    send(to, wire::Type::kError,
         wire::ErrorMsg{static_cast<std::uint32_t>(error.code), error.reason, error.message,
                        error.os_errno});
  }
};

}  // namespace cay::keeper
