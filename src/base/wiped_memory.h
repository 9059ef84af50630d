// Memory that is overwritten before it is given back: for what is to be found nowhere once it is
// over.
#pragma once
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace cay {

// Unlike memset, nothing that a compiler may leave out.
void wipe(void* begin, std::size_t size);
// Overwrites the whole capacity, so also earlier contents, and strings short enough to have no
// memory of their own.
void wipe(std::string& bytes);
// Overwrites some tens of kilobytes of this thread's stack below the caller, where functions that
// have returned left their values.
void wipe_stack();

// Bytes that are overwritten before their memory is given back. A `bytes()` that grows leaves its
// earlier contents where they were, so callers reserve enough first.
class Wiped {
 public:
  Wiped() = default;
  explicit Wiped(std::string bytes) : bytes_(std::move(bytes)) {}
  Wiped(Wiped&& other) noexcept : bytes_(std::move(other.bytes_)) { other.wipe(); }
  Wiped& operator=(Wiped&& other) noexcept;
  Wiped(const Wiped&) = delete;
  Wiped& operator=(const Wiped&) = delete;
  ~Wiped() { wipe(); }

  std::string& bytes() { return bytes_; }
  std::string_view view() const { return bytes_; }
  void wipe();

 private:
  std::string bytes_;
};

// For containers: what they give back, as they grow and at their end, is overwritten.
template <class T>
struct WipingAllocator {
  using value_type = T;
  WipingAllocator() = default;
  template <class U>
  WipingAllocator(const WipingAllocator<U>&) noexcept {}  // NOLINT: as allocators do

  T* allocate(std::size_t count) { return std::allocator<T>().allocate(count); }
  void deallocate(T* at, std::size_t count) noexcept {
    wipe(at, count * sizeof(T));
    std::allocator<T>().deallocate(at, count);
  }
  bool operator==(const WipingAllocator&) const = default;
};

}  // namespace cay
