// The response to a plain request that the policy refuses, because a bare reset explains nothing.
// Only the method of the guest's bytes matters, and the response repeats nothing but a valid host
// name.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "gate/sockets.h"

namespace cay::gate {

enum class ResponseForm : std::uint8_t {
  kMore,      // not all of its head is here yet
  kPage,      // an answer
  kHeadOnly,  // an answer without its body (HEAD)
  kNothing,   // it is no HTTP/1 request: another protocol would not understand one
};
// `looked`: as read_request_head() has it.
ResponseForm response_form(std::string_view first_bytes, std::size_t looked = 0);

// One sentence and a line's end. `host`: a host name, or empty.
std::string why_refused(std::string_view reason, std::string_view host, const Endpoint& to);

// 403, after which the connection ends.
std::string refusal_response(std::string_view sentence, ResponseForm asks);

}  // namespace cay::gate
