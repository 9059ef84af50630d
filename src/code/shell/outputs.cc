#include "code/shell/outputs.h"

#include <sys/ioctl.h>

namespace cay::shell {
namespace {

// Pieces of output, the oldest first: a Head, the id of the call, the bytes. It lies outside of
// Outputs, so that the program's file does not hold its zeros.
constinit Buffer<kMostKept> kept_output;

struct Head {
  bool is_stderr;
  std::size_t id_size;
  std::size_t size;
};
constexpr std::size_t kHeadSize = 6;

void put_head(Head head) {
  kept_output.put(head.is_stderr ? '2' : '1');
  kept_output.put(static_cast<char>(head.id_size));
  for (std::size_t i = 0; i < 4; ++i) kept_output.put(static_cast<char>(head.size >> 8 * i));
}

Head head_at(const char* bytes) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(bytes[i]); };
  Head head{.is_stderr = bytes[0] == '2', .id_size = byte(1), .size = 0};
  for (std::size_t i = 0; i < 4; ++i) head.size |= std::size_t{byte(2 + i)} << 8 * i;
  return head;
}

bool is_stderr(const Stream& one) { return Text(one.kind) == "stderr"; }

}  // namespace

Stream* Outputs::open(const char* kind, const Id& call, int& writer) {
  for (Stream& one : streams_) {
    if (one.fd >= 0) continue;
    int ends[2];
    if (system_call(SYS_pipe2, address(ends), O_CLOEXEC) < 0) return nullptr;
    system_call(SYS_fcntl, ends[0], F_SETFL, O_NONBLOCK);
    one.fd = ends[0];
    one.kind = kind;
    one.call = call;
    one.rest_size = 0;
    writer = ends[1];
    return &one;
  }
  return nullptr;
}

std::size_t Outputs::wait_for(pollfd* waits, Stream** whose) {
  std::size_t count = 0;
  for (Stream& one : streams_) {
    if (one.fd < 0) continue;
    whose[count] = &one;
    waits[count++] = {.fd = one.fd, .events = POLLIN, .revents = 0};
  }
  return count;
}

void Outputs::read(Stream& from, std::size_t most) {
  char bytes[kMostRead];
  const std::size_t begin = from.rest_size;
  for (std::size_t i = 0; i < begin; ++i) bytes[i] = from.rest[i];
  const std::size_t room = kMostRead - begin;
  const long got = system_call(SYS_read, from.fd, address(bytes + begin),
                               static_cast<long>(most < room ? most : room));
  if (got < 0) return;
  from.rest_size = 0;
  const Text all{bytes, begin + static_cast<std::size_t>(got)};
  if (all.size > 0) put(from, all, got == 0);
  if (got == 0) close_fd(from.fd);
}

void Outputs::put(Stream& from, Text bytes, bool last) {
  if (!is_under_way_) return keep(from, bytes);
  if (is_of_call(from)) {
    events_.begin(call_, from.kind);
  } else {
    events_.begin(call_, "background");
    events_.member("of", from.call.text());
    events_.member("stream", from.kind);
  }
  const std::size_t rest = events_.output(bytes, last);
  for (std::size_t i = 0; i < rest; ++i) from.rest[i] = bytes.data[bytes.size - rest + i];
  from.rest_size = rest;
  if (rest < bytes.size) events_.send();
}

void Outputs::keep(const Stream& from, Text bytes) {
  const Text id = from.call.text();
  while (kept_output.room() < kHeadSize + id.size + bytes.size) {
    const Head oldest = head_at(kept_output.data());
    dropped_ += oldest.size;
    kept_output.remove_front(kHeadSize + oldest.id_size + oldest.size);
  }
  put_head({.is_stderr = is_stderr(from), .id_size = id.size, .size = bytes.size});
  kept_output.put(id);
  kept_output.put(bytes);
}

void Outputs::send_kept() {
  if (dropped_ > 0) {
    events_.begin(call_, "background");
    events_.member("of", "");
    events_.member("stream", "stdout");
    events_.member("text", "");
    events_.number("bytes", dropped_);
    events_.send();
    dropped_ = 0;
  }
  const Text all = kept_output.text();
  for (std::size_t at = 0; at < all.size;) {
    const Head head = head_at(all.data + at);
    at += kHeadSize;
    Stream from;
    from.kind = head.is_stderr ? "stderr" : "stdout";
    from.call.set({all.data + at, head.id_size});
    at += head.id_size;
    put(from, {all.data + at, head.size}, true);
    at += head.size;
  }
  kept_output.clear();
}

void Outputs::begin(const Id& call) {
  call_ = call;
  is_under_way_ = true;
  send_kept();
}

void Outputs::drain(Stream& from) {
  int waiting = 0;
  if (from.fd < 0 || system_call(SYS_ioctl, from.fd, FIONREAD, address(&waiting)) < 0) return;
  while (waiting > 0 && from.fd >= 0) {
    const auto most = static_cast<std::size_t>(waiting);
    const std::size_t room = kMostRead - from.rest_size;
    read(from, most);
    waiting -= static_cast<int>(most < room ? most : room);
  }
  if (from.rest_size == 0) return;
  const char rest[4] = {from.rest[0], from.rest[1], from.rest[2], from.rest[3]};
  const Text text{rest, from.rest_size};
  from.rest_size = 0;
  put(from, text, true);
}

void Outputs::end() {
  for (Stream& one : streams_) {
    if (is_of_call(one) || one.call.text().size == 0) drain(one);
  }
  is_under_way_ = false;
}

}  // namespace cay::shell
