// ProtocolDetector: finds out whether a connection names its host where any protocol may pass.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "policy/rule.h"

namespace cay::gate {

// Reads a client's first bytes as they come. They name a host in two cases:
//
// - a TLS handshake record, `16 03`
//
// - a first line `TOKEN SP target SP HTTP/` (RFC 9112, 3), which empty lines may precede (2.2)
//
// Everything else is another protocol. Decision 0040 lists what that leaves open.
class ProtocolDetector {
 public:
  // Takes the next bytes. Returns how they name a host, kNone for another protocol, or nullopt
  // while they may still become a request or a handshake. The answer is final.
  std::optional<policy::Proof> add(std::string_view bytes);

 private:
  void take(char c);

  enum class At : std::uint8_t { kStart, kRecord, kToken, kTarget, kVersion };
  At at_ = At::kStart;
  bool after_empty_lines_ = false;
  std::size_t word_ = 0;  // how much of the current word has come
  std::optional<policy::Proof> found_;
};

}  // namespace cay::gate
