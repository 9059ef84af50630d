// Result<T>: a value or an Error. Spelled like std::expected, so that it can become one (C++23).
#pragma once
#include <optional>
#include <utility>
#include <variant>

#include "base/error.h"

namespace cay {

// Default-constructed Results hold an internal error: Boost 1.81's co_spawn needs the constructor.
template <class T>
class [[nodiscard]] Result {
 public:
  using value_type = T;
  Result()
      : state_(std::in_place_index<1>, Error{Code::kInternal, "empty_result", "no value", 0}) {}
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}      // NOLINT: implicit
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT: implicit

  bool has_value() const { return state_.index() == 0; }
  explicit operator bool() const { return has_value(); }

  T& operator*() & { return *std::get_if<0>(&state_); }
  const T& operator*() const& { return *std::get_if<0>(&state_); }
  T&& operator*() && { return std::move(*std::get_if<0>(&state_)); }
  T* operator->() { return std::get_if<0>(&state_); }
  const T* operator->() const { return std::get_if<0>(&state_); }

  Error& error() & { return *std::get_if<1>(&state_); }
  const Error& error() const& { return *std::get_if<1>(&state_); }
  Error&& error() && { return std::move(*std::get_if<1>(&state_)); }

  T value_or(T other) && { return has_value() ? std::move(**this) : std::move(other); }

 private:
  std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  using value_type = void;
  Result() = default;
  Result(Error error) : error_(std::move(error)) {}  // NOLINT: implicit

  bool has_value() const { return !error_.has_value(); }
  explicit operator bool() const { return has_value(); }
  void operator*() const {}

  Error& error() & { return *error_; }
  const Error& error() const& { return *error_; }
  Error&& error() && { return std::move(*error_); }

 private:
  std::optional<Error> error_;
};

}  // namespace cay

#define CAY_CONCAT_(a, b) a##b
#define CAY_CONCAT(a, b) CAY_CONCAT_(a, b)

// CAY_TRY(auto fd, open_it()): returns the error, or binds the value. A declaration, not an
// expression (a co_await inside a statement expression crashes g++ 12).
#define CAY_TRY_IMPL_(tmp, ret, decl, ...) \
  auto tmp = __VA_ARGS__;                  \
  if (!tmp) ret std::move(tmp).error();    \
  decl = *std::move(tmp)
#define CAY_TRY(decl, ...) \
  CAY_TRY_IMPL_(CAY_CONCAT(cay_try_, __COUNTER__), return, decl, __VA_ARGS__)
#define CAY_CO_TRY(decl, ...) \
  CAY_TRY_IMPL_(CAY_CONCAT(cay_try_, __COUNTER__), co_return, decl, __VA_ARGS__)

// For Result<void>.
#define CAY_CHECK_IMPL_(tmp, ret, ...) \
  auto tmp = __VA_ARGS__;              \
  if (!tmp) ret std::move(tmp).error()
#define CAY_CHECK(...) CAY_CHECK_IMPL_(CAY_CONCAT(cay_try_, __COUNTER__), return, __VA_ARGS__)
#define CAY_CO_CHECK(...) CAY_CHECK_IMPL_(CAY_CONCAT(cay_try_, __COUNTER__), co_return, __VA_ARGS__)
