// The parts of both ends of a LangSmith tunnel in the bench: yamux frames in binary WebSocket
// messages (protocol reference, section 5). Blocking, and with as few copies as the kernel allows:
// the cost of such an end is the protocol's own.
#pragma once
#include <fcntl.h>

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <string>

#include "sockets.h"

namespace cay::bench {

constexpr std::size_t kWindow = 256 * 1024;  // that all known clients have
constexpr std::size_t kHeader = 12;
constexpr std::uint32_t kStream = 1;
enum Type : std::uint8_t { kData = 0, kWindowUpdate = 1, kPing = 2 };
enum Flag : std::uint16_t { kSyn = 1, kAck = 2, kFin = 4, kRst = 8 };

inline void put(std::string& out, std::uint64_t value, int bytes) {
  for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8)
    out.push_back(static_cast<char>((value >> shift) & 0xff));
}

inline std::uint64_t number(const char* at, std::size_t bytes) {
  std::uint64_t out = 0;
  for (std::size_t i = 0; i < bytes; ++i) out = out << 8 | static_cast<std::uint8_t>(at[i]);
  return out;
}

inline std::string header(Type type, std::uint16_t flags, std::size_t length) {
  std::string out;
  put(out, 0, 1);
  put(out, type, 1);
  put(out, flags, 2);
  put(out, kStream, 4);
  put(out, length, 4);
  return out;
}

// A client masks what it sends (RFC 6455, section 5.3), a server does not.
enum class Mask { kOn, kOff };
constexpr char kKey[] = "\x12\x34\x56\x78";
constexpr std::size_t kMostHead = 14;

inline std::string message_head(std::size_t length, Mask mask) {
  const std::uint64_t bit = mask == Mask::kOn ? 0x80 : 0;
  std::string out = "\x82";
  if (length < 126) {
    put(out, bit | length, 1);
  } else if (length < 65536) {
    put(out, bit | 126, 1);
    put(out, length, 2);
  } else {
    put(out, bit | 127, 1);
    put(out, length, 8);
  }
  if (mask == Mask::kOn) out.append(kKey, 4);
  return out;
}

// `at`: how many bytes of the message came before these.
inline void apply_mask(char* bytes, std::size_t size, const char* key, std::uint64_t at) {
  char turned[4];
  for (std::uint64_t i = 0; i < 4; ++i) turned[i] = key[(at + i) % 4];
  std::uint64_t wide = 0;
  std::memcpy(&wide, turned, 4);
  wide |= wide << 32;
  std::size_t i = 0;
  for (; i + 8 <= size; i += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes + i, 8);
    word ^= wide;
    std::memcpy(bytes + i, &word, 8);
  }
  for (std::size_t rest = 0; i < size; ++i, ++rest)
    bytes[i] = static_cast<char>(bytes[i] ^ turned[rest % 4]);
}

// The bytes that the other side allows.
class Credit {
 public:
  // At most `most` bytes, at least one. 0: the session is over.
  std::size_t take(std::size_t most) {
    std::unique_lock lock(mutex_);
    more_.wait(lock, [this] { return left_ > 0 || over_; });
    if (over_) return 0;
    const std::size_t out = std::min(most, left_);
    left_ -= out;
    return out;
  }
  void give(std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    left_ += bytes;
    more_.notify_all();
  }
  void end() {
    const std::lock_guard lock(mutex_);
    over_ = true;
    more_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable more_;
  std::size_t left_ = kWindow;
  bool over_ = false;
};

// Bytes from one socket to another that are not copied.
class Splice {
 public:
  Splice() {
    if (::pipe2(ends_, O_CLOEXEC) != 0) give_up("pipe2");
    ::fcntl(ends_[1], F_SETPIPE_SZ, 1 << 20);
  }
  Splice(const Splice&) = delete;
  Splice& operator=(const Splice&) = delete;
  ~Splice() {
    ::close(ends_[0]);
    ::close(ends_[1]);
  }
  ssize_t take(int from, std::size_t most) {
    return ::splice(from, nullptr, ends_[1], nullptr, most, SPLICE_F_MOVE);
  }
  bool give(int to, std::size_t size) {
    while (size > 0) {
      const ssize_t gone = ::splice(ends_[0], nullptr, to, nullptr, size, SPLICE_F_MOVE);
      if (gone <= 0) return false;
      size -= static_cast<std::size_t>(gone);
    }
    return true;
  }

 private:
  int ends_[2];
};

inline bool receive_all(int fd, char* bytes, std::size_t size) {
  return size == 0 || ::recv(fd, bytes, size, MSG_WAITALL) == static_cast<ssize_t>(size);
}

}  // namespace cay::bench
