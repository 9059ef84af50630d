// KeeperCalls: one request, one answer, over a keeper's PersistentLink. Each has a deadline, and is
// repeated after a lost link where that changes nothing.
#pragma once
#include <memory>
#include <string>

#include "runtime/keeper/channel.h"
#include "runtime/keeper/persistent_link.h"

namespace cay::runtime {

// How long a caller waits for a link to the keeper before kUnavailable, and for an answer.
inline constexpr Millis kLinkLimit{10'000};
inline constexpr Millis kAnswerLimit{30'000};
// File helpers give up after 60 s without progress: a little more.
inline constexpr Millis kFileLimit{75'000};

// The most repeats of a request after lost links.
inline constexpr int kTries = 8;

enum class Repeat { kSafe, kUnsafe };  // may it be repeated if the link was lost meanwhile?

// kInvalidArgument (request_too_large) if the payload does not fit a frame of `type`.
Result<void> check_fits(wire::Type type, const std::string& payload);

// An open channel on which `type` was sent. kInvalidArgument (request_too_large) if the payload
// does not fit a frame; nothing is then sent.
Task<std::unique_ptr<Channel>> ask(std::shared_ptr<PersistentLink> line, wire::Type type,
                                   std::string payload);

// Sends, and returns the first frame of the answer, the channel finished.
Task<wire::Frame> call(std::shared_ptr<PersistentLink> line, wire::Type type, std::string payload,
                       Repeat repeat, Millis limit = kAnswerLimit);

// call(), expecting kOk.
Task<void> call_ok(std::shared_ptr<PersistentLink> line, wire::Type type, std::string payload,
                   Repeat repeat, Millis limit = kAnswerLimit);

// Whether the link went (and not the peer's answer, nor the peer itself).
inline bool link_lost(const Error& error) {
  return error.code == Code::kUnavailable && error.reason == "link_lost";
}

}  // namespace cay::runtime
