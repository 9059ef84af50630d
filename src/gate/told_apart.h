// What a client begins to say where no rule asks for a proof: whether its first bytes are of those that may name a host.
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "gate/first_bytes.h"

namespace cay::gate {

// As what they would show a name; kNone: they are of another protocol. nullopt: they may become either yet, unless the client has `ended`. Whatever a
// server could take for a request of HTTP or for TLS is that here, whether read_first_bytes() likes it or not: a request in words that only some servers
// part, or whose method is none, what a proxy says before one (PROXY), what HTTP/2 begins with in the clear, whose hosts nobody here reads; a ClientHello
// in the form of SSL 2.
std::optional<Proof> told_apart(std::string_view bytes, bool ended = false);

// Of bytes that have gone on and are not told yet: where no reader of requests will take them, what telling needs, which is a hundred bytes and a few however long
// their line becomes.
void keep_what_tells(std::string& bytes);

}  // namespace cay::gate
