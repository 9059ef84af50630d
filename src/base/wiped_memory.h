// Memory that is overwritten before it is given back: for what is to be found nowhere once it is over.
#pragma once
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace cay {

// Unlike memset, nothing that a compiler may leave out.
void wipe(void* begin, std::size_t size);
// What it held before, too, and what is short enough to have no memory of its own.
void wipe(std::string& bytes);
// What functions that have returned left on this thread's stack, below the caller, for some tens of kilobytes.
void wipe_stack();

// Bytes that are overwritten before their memory is given back. Whoever lets `bytes()` grow leaves what it held where
// it was: give it room first.
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
