#include "client/errors.h"

#include "client/json_read.h"
#include "codec/json.h"

namespace cay {

std::string_view to_string(ErrorCode code) {
  // The two enums are in step: see public_code().
  return to_string(static_cast<Code>(static_cast<int>(code) + 1));
}

}  // namespace cay

namespace cay::client {
namespace {

Code code_of_status(int status) {
  switch (status) {
    case 401: return Code::kUnauthenticated;
    case 403: return Code::kPermissionDenied;
    case 404: return Code::kNotFound;
    case 408:
    case 504: return Code::kDeadlineExceeded;
    case 409: return Code::kConflict;
    case 416: return Code::kOutOfRange;
    case 429: return Code::kExhausted;
    case 501: return Code::kUnsupported;
    case 502:
    case 503: return Code::kUnavailable;
    default: break;
  }
  return status >= 400 && status < 500 ? Code::kInvalidArgument : Code::kInternal;
}

}  // namespace

ErrorCode public_code(Code code) {
  switch (code) {
    case Code::kInvalidArgument: return ErrorCode::kInvalidArgument;
    case Code::kUnauthenticated: return ErrorCode::kUnauthenticated;
    case Code::kPermissionDenied: return ErrorCode::kPermissionDenied;
    case Code::kNotFound: return ErrorCode::kNotFound;
    case Code::kAlreadyExists: return ErrorCode::kAlreadyExists;
    case Code::kConflict: return ErrorCode::kConflict;
    case Code::kNotReady: return ErrorCode::kNotReady;
    case Code::kExhausted: return ErrorCode::kExhausted;
    case Code::kDeadlineExceeded: return ErrorCode::kDeadlineExceeded;
    case Code::kCancelled: return ErrorCode::kCancelled;
    case Code::kOutOfRange: return ErrorCode::kOutOfRange;
    case Code::kUnsupported: return ErrorCode::kUnsupported;
    case Code::kUnavailable: return ErrorCode::kUnavailable;
    case Code::kLost: return ErrorCode::kLost;
    case Code::kInternal: return ErrorCode::kInternal;
  }
  return ErrorCode::kInternal;
}

Error error_of_answer(int status, std::string_view body) {
  auto parsed = codec::parse(body);
  if (parsed && parsed->is_object()) {
    const auto* inner = parsed->get_object().if_contains("error");
    if (inner != nullptr && inner->is_object())
      return error_from_json(inner->get_object(), code_of_status(status));
  }
  return {code_of_status(status), "unexpected_answer",
          "the server answered HTTP " + std::to_string(status) +
              " without an error of Cay's: is CAY_URL the address of a Cay daemon?"};
}

void raise(Error error) {
  throw ApiError(public_code(error.code), std::move(error.reason), error.message);
}

}  // namespace cay::client
