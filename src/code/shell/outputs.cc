#include "code/shell/outputs.h"

#include <sys/ioctl.h>

namespace cay::shell {

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
    one.has_job = false;
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
  if (got == 0) close(from);
}

void Outputs::close(Stream& from) {
  close_fd(from.fd);
  if (!from.has_job) return;
  for (const Stream& one : streams_) {
    if (one.fd >= 0 && one.has_job && one.call == from.call) return;
  }
  events_.begin(from.call, "closed");
  events_.number("at", events_.sent());
  events_.note();
}

bool Outputs::has_jobs(const Id& call) {
  bool found = false;
  for (Stream& one : streams_) {
    if (one.fd < 0 || !(one.call == call)) continue;
    pollfd wait{.fd = one.fd, .events = POLLIN, .revents = 0};
    const timespec none{};
    system_call(SYS_ppoll, address(&wait), 1, address(&none));
    if ((wait.revents & (POLLIN | POLLHUP)) == POLLHUP) {
      close_fd(one.fd);
      continue;
    }
    one.has_job = true;
    found = true;
  }
  return found;
}

void Outputs::put(Stream& from, Text bytes, bool last) {
  if (is_of_call(from)) {
    events_.begin(call_, from.kind);
  } else {
    events_.begin(from.call, "late");
    events_.member("stream", from.kind);
  }
  const std::size_t rest = events_.output(bytes, last);
  for (std::size_t i = 0; i < rest; ++i) from.rest[i] = bytes.data[bytes.size - rest + i];
  from.rest_size = rest;
  if (rest < bytes.size) events_.send();
}

void Outputs::begin(const Id& call) {
  call_ = call;
  is_under_way_ = true;
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

void Outputs::drain_all() {
  for (Stream& one : streams_) drain(one);
}

void Outputs::end() {
  for (Stream& one : streams_) {
    if (is_of_call(one) || one.call.text().size == 0) drain(one);
  }
  is_under_way_ = false;
}

}  // namespace cay::shell
