// The limits of a request that starts a command. Every route has the same ones: the HTTP routes,
// the WebSockets, those of LangSmith's clients, and our own client.
#pragma once
#include <cstddef>

#include "model/command.h"

namespace cay {

// JSON writes one byte of a string as up to six characters ("\u0001").
inline constexpr std::size_t kJsonGrowth = 6;

// The most bytes of JSON in one request body or WebSocket message. The longest command fits,
// however it is escaped; the rest is for its stdin and for the other members.
inline constexpr std::size_t kMaxCommandRequest = 16 << 20;
static_assert(kMaxCommandRequest >= kJsonGrowth * kMaxCommandBytes + (2 << 20));

// The most arguments of a command. A keeper reads no longer list (wire/tlv.h).
inline constexpr std::size_t kMaxArguments = 65'536;

}  // namespace cay
