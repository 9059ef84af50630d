// Error: why an operation of Cay's did not happen. A command that fails is not an Error, it is a
// CommandEnd (model/command.h).
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace cay {

// A closed set, named by what the caller does about it. Borders (HTTP, wire, CLI) switch over it
// without a default, so that a new code fails to compile there.
enum class Code : std::uint8_t {
  kInvalidArgument = 1,   // the request can never work: mend it
  kUnauthenticated = 2,   // no key, or an unknown one
  kPermissionDenied = 3,  // known, but not allowed
  kNotFound = 4,          // no such sandbox, command, file
  kAlreadyExists = 5,     // the name is in use
  kConflict = 6,          // same id, other request
  kNotReady = 7,          // right request, wrong state: retry later or change the state
  kExhausted = 8,         // a quota or a limit of the host; the message names the resource
  kDeadlineExceeded = 9,  // not done in the caller's time
  kCancelled = 10,        // the caller went away
  kOutOfRange = 11,       // an offset past the end
  kUnsupported = 12,      // this host or runtime cannot do it
  kUnavailable = 13,      // ours: a part of Cay is not reachable now; retry
  kLost = 14,             // ours: something that existed is gone, with the reason
  kInternal = 15,         // ours: a bug or a broken host
};

// Whether Cay (or its host) failed, rather than the caller or the caller's code.
constexpr bool is_ours(Code code) {
  return code == Code::kUnavailable || code == Code::kLost || code == Code::kInternal;
}

std::string_view to_string(Code code);

struct Error {
  Code code = Code::kInternal;
  std::string reason;   // a stable word, listed in docs/errors.md: "sandbox_not_found"
  std::string message;  // for people: what happened and what to do
  int os_errno = 0;     // 0: none

  // Prefixes the message: "mount rootfs of sb_1: Operation not permitted".
  Error while_doing(std::string_view what) &&;

  // Maps an errno of `what` to the nearest code; reason "os_error" unless given.
  static Error from_errno(int err, std::string_view what, std::string_view reason = "os_error");
};

}  // namespace cay
