#include "base/wiped_memory.h"

#include <string.h>  // explicit_bzero is no part of <cstring>

namespace cay {

void wipe(void* begin, std::size_t size) {
  if (size > 0) ::explicit_bzero(begin, size);
}

void wipe(std::string& bytes) {
  bytes.resize(bytes.capacity());
  wipe(bytes.data(), bytes.size());
  bytes.clear();
}

[[gnu::noinline]] void wipe_stack() {
  constexpr std::size_t kDeep = 32 * 1024;
  char room[kDeep];
  wipe(room, sizeof room);
}

void Wiped::wipe() { cay::wipe(bytes_); }

Wiped& Wiped::operator=(Wiped&& other) noexcept {
  if (this == &other) return *this;
  wipe();
  bytes_ = std::move(other.bytes_);
  other.wipe();
  return *this;
}

}  // namespace cay
