// Reads the host that a client's first bytes name: the server name of a TLS ClientHello (RFC 8446,
// 6066), or the Host of an HTTP/1 request. A guest chooses the bytes, so anything unusual is
// refused.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "policy/rule.h"

namespace cay::gate {

using policy::Proof;

inline constexpr std::size_t kMostFirstBytes = 16 * 1024;

struct Shown {
  enum class State : std::uint8_t {
    kMore,   // not all of it is here yet
    kName,   // `host` is the name: lower case, without a port
    kNone,   // it is what it should be, and names nobody
    kOther,  // it is something else
  };
  State state = State::kMore;
  std::string host{};
  std::size_t size =
      0;  // of kName and kNone: how many of the bytes it takes; what follows is not of it
};

Shown read_client_hello(std::string_view bytes);
// The one that answers a HelloRetryRequest, with what may stand before it: change_cipher_spec, and
// early data that its server passes over.
Shown read_next_hello(std::string_view bytes);
// `looked`: so many of the bytes were read before, and more was wanted. With it a head that comes
// byte by byte is not read anew with each.
Shown read_request_head(std::string_view bytes, std::size_t looked = 0);
Shown read_first_bytes(Proof proof, std::string_view bytes, std::size_t looked = 0);

}  // namespace cay::gate
