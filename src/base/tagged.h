// Tagged<Tag, T>: a T that cannot be mistaken for another T: `using SandboxId = Tagged<...>`.
#pragma once
#include <compare>
#include <functional>
#include <string>
#include <utility>

namespace cay {

template <class Tag, class T = std::string>
class Tagged {
 public:
  Tagged() = default;
  explicit Tagged(T value) : value_(std::move(value)) {}
  const T& get() const { return value_; }
  auto operator<=>(const Tagged&) const = default;

 private:
  T value_{};
};

}  // namespace cay

template <class Tag, class T>
struct std::hash<cay::Tagged<Tag, T>> {
  std::size_t operator()(const cay::Tagged<Tag, T>& id) const { return std::hash<T>{}(id.get()); }
};
