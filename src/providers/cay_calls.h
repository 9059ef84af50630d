// Calls of the SDK as Tasks: what it throws becomes an Error.
#pragma once
#include <string>
#include <utility>

#include "async/task.h"
#include "cay/async_client.h"

namespace cay::providers {

Error error_of(const ApiError& thrown);
// kLost (sandbox_lost).
Error lost_sandbox(const std::string& id, const std::string& why);

template <class T>
Task<T> caught(sdk::Awaitable<T> work) {
  try {
    if constexpr (std::is_void_v<T>) {
      co_await std::move(work);
      co_return Result<void>();
    } else {
      auto got = co_await std::move(work);
      co_return std::move(got);
    }
  } catch (const ApiError& thrown) {
    co_return error_of(thrown);
  }
}

}  // namespace cay::providers
