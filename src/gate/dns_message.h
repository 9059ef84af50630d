// DNS messages (RFC 1035, OPT of RFC 6891, reasons of RFC 8914): one question in, one answer out.
// Bytes come from the sandbox and are believed in nothing; what outside servers send is the C
// library's to parse.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/ip_address.h"

namespace cay::gate {

struct DnsQuestion {
  std::uint16_t id = 0;
  bool recursion_desired = false;
  std::string name;  // lower case, without the last dot; "" for the root; bytes that are not plain
                     // as \DDD (RFC 1035, 5.1)
  bool plain =
      true;  // only letters, digits, '-' and '_' in its labels: others mean nothing to the policy
  std::uint16_t type = 0;
  std::uint16_t klass = 0;
  std::string wire;        // the question as it came: it goes back so
  std::size_t room = 512;  // bytes that the asker takes in a datagram
  bool has_opt = false;
};

inline constexpr std::uint16_t kDnsA = 1;
inline constexpr std::uint16_t kDnsAaaa = 28;
inline constexpr std::uint16_t kDnsInternet = 1;

enum class DnsCode : std::uint8_t {
  kOk = 0,
  kFormat = 1,
  kServer = 2,
  kNoName = 3,
  kNotImplemented = 4,
  kRefused = 5
};

// nullopt: nothing that can be answered (too short, an answer itself, more than one question,
// broken names).
std::optional<DnsQuestion> parse_question(std::string_view message);

struct DnsAnswer {
  DnsCode code = DnsCode::kOk;
  std::vector<IpAddress> addresses;  // those of the question's type are taken
  std::uint32_t ttl = 0;
  std::string
      blocked;  // why, in words, where the policy refuses: an extended error, to askers with OPT
};

// Returns at most `room` bytes. An answer that does not fit is marked as cut (TC), and the client
// repeats the question over TCP.
std::string encode_answer(const DnsQuestion& question, const DnsAnswer& answer, std::size_t room);

}  // namespace cay::gate
