// What a client begins to say where no rule asks for a proof: whether its first bytes are of those that may name a host.
#pragma once
#include <optional>
#include <string_view>

#include "gate/first_bytes.h"

namespace cay::gate {

// As what they would show a name; kNone: they are of another protocol (HTTP/2 in the clear, too, whose hosts nobody here reads). nullopt: they may
// become either yet. Whatever a server could take for a request of HTTP/1 is one here, whether read_request_head() likes it or not.
std::optional<Proof> told_apart(std::string_view bytes);

}  // namespace cay::gate
