// What a client begins to say where no rule asks for a proof: whether its first bytes are of those that may name a host.
#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "gate/first_bytes.h"

namespace cay::gate {

// How much of the first word of a line is known to be of a token: what was looked at is not looked at again when more has come. It goes with the bytes of one
// connection from call to call.
struct Looked {
  std::size_t word = 0;
};

// As what they would show a name; kNone: they are of another protocol. nullopt: they may become either yet, unless the client has `ended`. What servers
// take for a request of HTTP or for TLS is that here, whether read_first_bytes() likes it or not: a request in words that only some servers part, or whose
// method is none, what a proxy says before one (PROXY), what HTTP/2 begins with in the clear, whose hosts nobody here reads. The ClientHello of SSL 2 is not:
// it names nobody. Nor is what one server alone takes and others' own words look like: decision 0015.
std::optional<Proof> told_apart(std::string_view bytes, bool ended = false, Looked* looked = nullptr);

// Of bytes that are not told yet: whether only the end of their line can make a request of them, and they are no record of TLS that a server passes over.
// Where the server has answered by then, there was no request.
bool is_no_request_yet(std::string_view bytes, Looked* looked = nullptr);

// Of bytes that have gone on and are not told yet: where no reader of requests will take them, what telling needs, which is less than 200 bytes however long
// their line becomes.
void keep_what_tells(std::string& bytes, Looked* looked = nullptr);

}  // namespace cay::gate
