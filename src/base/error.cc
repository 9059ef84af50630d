#include "base/error.h"

#include <cerrno>
#include <system_error>

namespace cay {

std::string_view to_string(Code code) {
  switch (code) {
    case Code::kInvalidArgument: return "invalid_argument";
    case Code::kUnauthenticated: return "unauthenticated";
    case Code::kPermissionDenied: return "permission_denied";
    case Code::kNotFound: return "not_found";
    case Code::kAlreadyExists: return "already_exists";
    case Code::kConflict: return "conflict";
    case Code::kNotReady: return "not_ready";
    case Code::kExhausted: return "exhausted";
    case Code::kDeadlineExceeded: return "deadline_exceeded";
    case Code::kCancelled: return "cancelled";
    case Code::kOutOfRange: return "out_of_range";
    case Code::kUnsupported: return "unsupported";
    case Code::kUnavailable: return "unavailable";
    case Code::kLost: return "lost";
    case Code::kInternal: return "internal";
  }
  return "internal";
}

Error Error::while_doing(std::string_view what) && {
  message = std::string(what) + ": " + message;
  return std::move(*this);
}

namespace {
Code code_of_errno(int err) {
  switch (err) {
    case ENOENT:
    case ENOTDIR: return Code::kNotFound;
    case EEXIST: return Code::kAlreadyExists;
    case EACCES:
    case EPERM:
    case EROFS: return Code::kPermissionDenied;
    case EISDIR:
    case ELOOP:
    case ENAMETOOLONG:
    case EINVAL: return Code::kInvalidArgument;
    case ENOSPC:
    case EDQUOT:
    case ENOMEM:
    case EMFILE:
    case ENFILE:
    case EAGAIN: return Code::kExhausted;
    case ETIMEDOUT: return Code::kDeadlineExceeded;
    case ENOSYS:
    case EOPNOTSUPP: return Code::kUnsupported;
    case ECONNREFUSED:
    case ECONNRESET:
    case EPIPE: return Code::kUnavailable;
    default: return Code::kInternal;
  }
}
}  // namespace

Error Error::from_errno(int err, std::string_view what, std::string_view reason) {
  return Error{code_of_errno(err), std::string(reason),
               std::string(what) + ": " + std::generic_category().message(err), err};
}

}  // namespace cay
