// Reads a server's first answer, where the client's next bytes wait for it. The answer decides
// whether those bytes are still what they were judged as.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace cay::gate {

enum class FirstAnswer : std::uint8_t {
  kMore,      // that cannot be told yet
  kSwitches,  // another protocol from here on (HTTP, 101)
  kRetries,   // the client is to say another ClientHello (TLS 1.3, HelloRetryRequest)
  kOther,     // anything else
};

inline constexpr std::size_t kMostFirstAnswer = 16 * 1024;

// Reads the answer to an upgrade request. Interim answers (100, 103) are skipped.
FirstAnswer read_http_answer(std::string_view bytes);
// To a ClientHello.
FirstAnswer read_server_hello(std::string_view bytes);

}  // namespace cay::gate
