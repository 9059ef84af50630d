// What a plain request is told that the policy refuses, so that whoever sent it understands; a bare reset says nothing. Of the guest's own bytes
// only its method counts, and nothing is said back but a name that is one.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "gate/sockets.h"

namespace cay::gate {

enum class Asks : std::uint8_t {
  kMore,      // not all of its head is here yet
  kPage,      // an answer
  kHeadOnly,  // an answer without its body (HEAD)
  kNothing,   // it is no HTTP/1 request: another protocol would not understand one
};
// `looked`: as read_request_head() has it.
Asks what_it_asks(std::string_view first_bytes, std::size_t looked = 0);

// One sentence and a line's end. `host`: a host name, or empty.
std::string why_refused(std::string_view reason, std::string_view host, const Endpoint& to);

// 403, after which the connection ends.
std::string said_no(std::string_view sentence, Asks asks);

}  // namespace cay::gate
