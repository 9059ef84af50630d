// Errors on the client's side: an answer's error body -> Error, and Error -> the SDK's exception.
#pragma once
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"
#include "cay/error.h"

namespace cay::client {

ErrorCode public_code(Code code);

// From an answer that is no success. A body that is not ours gives the nearest code of the status.
Error error_of_answer(int status, std::string_view body);

[[noreturn]] void raise(Error error);

// The value, or the exception.
template <class T>
T value_or_raise(Result<T> result) {
  if (!result) raise(std::move(result).error());
  return *std::move(result);
}
inline void value_or_raise(Result<void> result) {
  if (!result) raise(std::move(result).error());
}

}  // namespace cay::client
