// The SDK throws ApiError when Cay refuses a request or fails, or when the connection to it fails.
// A command that exits 1, times out or is killed is not an error. It is a value (CommandResult).
#pragma once
#include <stdexcept>
#include <string>
#include <string_view>

namespace cay {

// The caller's next step. A closed set; docs/errors.md lists the reasons under each.
enum class ErrorCode {
  kInvalidArgument,   // the request can never work: mend it
  kUnauthenticated,   // no key, or an unknown one
  kPermissionDenied,  // known, but not allowed
  kNotFound,          // no such sandbox, command, file
  kAlreadyExists,     // the name is in use
  kConflict,          // same command id, other request
  kNotReady,          // right request, wrong state: retry later or change the state
  kExhausted,         // a quota or a limit of the host; the message names the resource
  kDeadlineExceeded,  // not done in time
  kCancelled,         // the caller went away
  kOutOfRange,        // an offset past the end
  kUnsupported,       // this host cannot do it
  kUnavailable,       // the daemon is not reachable now; retry
  kLost,              // something that existed is gone
  kInternal,          // a bug or a broken host
};

// "not_found", as the API spells it.
std::string_view to_string(ErrorCode code);

class ApiError : public std::runtime_error {
 public:
  ApiError(ErrorCode code, std::string reason, const std::string& message)
      : std::runtime_error(message), code_(code), reason_(std::move(reason)) {}

  ErrorCode code() const { return code_; }
  // A stable word: "sandbox_not_found", "connect_failed", "no_key".
  const std::string& reason() const { return reason_; }

 private:
  ErrorCode code_;
  std::string reason_;
};

}  // namespace cay
