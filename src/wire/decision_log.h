// The decision log of a sandbox: DATA/gate/ID.log, and ID.log.old, which was ID.log before. Each
// has an 8-byte head and then checked frames (wire/checked_frame.h) of one DecidedMsg each. The
// gate appends. A frame that is short or does not match its sum ends the file.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "wire/tlv.h"

namespace cay::wire {

inline constexpr std::string_view kDecisionLogHead{"caydec\0\1", 8};
inline constexpr const char* kDecisionLog = ".log";  // behind the sandbox's id
inline constexpr const char* kOldDecisionLog = ".log.old";
inline constexpr std::size_t kMostDecisionLog = 768 * 1024;  // each of the two
inline constexpr std::uint32_t kMostDecidedFrame = 4096;
// JSON's readers cannot distinguish larger numbers. An entry that claims one is no decision.
inline constexpr std::uint64_t kMostDecidedNumber = (std::uint64_t{1} << 53) - 1;
// The numbers that a gate skips if its predecessor could not write its last one: a power cut may
// have taken back lines that readers have seen already.
inline constexpr std::uint64_t kDecidedStep = std::uint64_t{1} << 20;

enum class DecidedKind : std::uint8_t {
  kConnection = 1,
  kLookup = 2,   // of a name
  kRequest = 3,  // with a secret, by the broker
  kRestart = 4,  // the gate was started again: what the one before decided last may be missing
  kClosed = 5,   // all that was decided is above. Has no number, and is not shown
};
enum class DecidedResult : std::uint8_t {
  kNone = 0,
  kAllowed = 1,
  kRefused = 2,
  kFailed = 3,
  kAsked = 4
};

struct DecidedMsg {
  std::uint64_t number = 0;  // grows, by one but for what was lost
  std::uint8_t kind = 0;
  std::int64_t at = 0;  // UnixMillis
  std::uint8_t result = 0;
  std::string host, address;  // as in DecisionMsg (wire/messages.h)
  std::uint32_t port = 0;
  std::string reason, rule;
  template <class V>
  void fields(V& v) {
    v(1, number);
    v(2, kind);
    v(3, at);
    v(4, result);
    v(5, host);
    v(6, address);
    v(7, port);
    v(8, reason);
    v(9, rule);
  }
};

std::string decided_frame(const DecidedMsg& decided);

struct DecidedRead {
  std::vector<DecidedMsg> items;       // the requested ones
  std::uint64_t oldest = 0, last = 0;  // numbers in the file; 0: none
  std::size_t good = 0;                // bytes understood
  bool closed = false;                 // nothing was decided behind what is here
};
// Those of a whole file with numbers above `after`, the first `most` of them. Numbers that do not
// grow are left out.
DecidedRead read_decided(std::string_view file, std::uint64_t after, std::size_t most);

}  // namespace cay::wire
