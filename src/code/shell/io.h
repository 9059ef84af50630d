// Files, time and ids of the shell driver.
#pragma once
#include <fcntl.h>
#include <time.h>

#include "code/shell/system_calls.h"
#include "code/shell/text.h"

namespace cay::shell {

[[noreturn]] inline void leave(int code) {
  for (;;) system_call(SYS_exit_group, code);
}

inline long now_ms() {
  timespec time{};
  system_call(SYS_clock_gettime, CLOCK_MONOTONIC, address(&time));
  return time.tv_sec * 1000 + time.tv_nsec / 1'000'000;
}

inline void close_fd(int& fd) {
  if (fd >= 0) system_call(SYS_close, fd);
  fd = -1;
}

inline bool write_all(int fd, Text text) {
  while (text.size > 0) {
    const long written =
        system_call(SYS_write, fd, address(text.data), static_cast<long>(text.size));
    if (written < 0) return false;
    text = {text.data + written, text.size - static_cast<std::size_t>(written)};
  }
  return true;
}

// The id of a call.
constexpr std::size_t kMostId = 64;
class Id {
 public:
  void set(Text text) {
    size_ = text.size < kMostId ? text.size : kMostId;
    for (std::size_t i = 0; i < size_; ++i) bytes_[i] = text.data[i];
  }
  Text text() const { return {bytes_, size_}; }
  bool operator==(const Id& other) const { return text() == other.text(); }

 private:
  char bytes_[kMostId] = {};
  std::size_t size_ = 0;
};

}  // namespace cay::shell
