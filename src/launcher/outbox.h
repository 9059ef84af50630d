// Outbox sends answers to connections. If a connection has closed by the time its answer is ready,
// the answer is dropped.
#pragma once
#include <cstdint>

#include "base/error.h"
#include "wire/frame.h"
#include "wire/messages.h"

namespace cay::launcher {

struct ReplyTo {
  std::uint64_t connection = 0;
  std::uint32_t channel = 0;
};

class Outbox {
 public:
  virtual ~Outbox() = default;
  virtual void send(std::uint64_t connection, const wire::Frame& frame) = 0;
  virtual void broadcast(const wire::Frame& frame) = 0;
};

template <class M>
wire::Frame frame_of(wire::Type type, std::uint32_t channel, const M& message) {
  return {static_cast<std::uint16_t>(type), 0, channel, wire::encode(message)};
}

inline wire::Frame error_frame(std::uint32_t channel, const Error& error) {
  return frame_of(wire::Type::kError, channel,
                  wire::ErrorMsg{static_cast<std::uint32_t>(error.code), error.reason,
                                 error.message, error.os_errno});
}

template <class M>
void reply(Outbox& outbox, const ReplyTo& to, wire::Type type, const M& message) {
  outbox.send(to.connection, frame_of(type, to.channel, message));
}

inline void reply_error(Outbox& outbox, const ReplyTo& to, const Error& error) {
  outbox.send(to.connection, error_frame(to.channel, error));
}

}  // namespace cay::launcher
