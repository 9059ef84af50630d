// What a client begins to say where no rule asks for a proof: whether its first bytes are of those that may name a host.
#pragma once
#include <optional>
#include <string_view>

#include "gate/first_bytes.h"

namespace cay::gate {

// As what they would show a name; kNone: they are of another protocol (HTTP/2 in the clear, too, whose hosts nobody here reads). nullopt: they may
// become either yet, unless the client has `ended`. Whatever a server could take for a request of HTTP/1 or for TLS is that here, and what a proxy says
// before it (PROXY), whether read_first_bytes() likes it or not.
std::optional<Proof> told_apart(std::string_view bytes, bool ended = false);

}  // namespace cay::gate
