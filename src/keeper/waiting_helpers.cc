#include "keeper/waiting_helpers.h"

#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <utility>

namespace cay::keeper {
namespace {

// Nothing has come, and the other end is open.
bool is_silent(int socket) {
  char byte = 0;
  return ::recv(socket, &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0 && errno == EAGAIN;
}

}  // namespace

void WaitingHelpers::add(Helper helper) {
  if (places_.size() >= kMost) dismiss(places_.begin());
  const At at = places_.emplace(places_.end());
  at->helper = std::move(helper);
  // A helper that waits has nothing to send: this is its end, or nonsense.
  at->watch =
      loop_.watch(at->helper.socket.get(), EPOLLIN, [this, at](std::uint32_t) { dismiss(at); });
  at->timer = loop_.after(kPatienceMs, [this, at] { dismiss(at); });
}

std::optional<WaitingHelpers::Helper> WaitingHelpers::take(const std::string& user) {
  // The newest first, so that the others may leave.
  const auto found = std::find_if(places_.rbegin(), places_.rend(), [&user](const Place& place) {
    return place.helper.user == user;
  });
  if (found == places_.rend()) return std::nullopt;
  const At at = std::prev(found.base());
  if (!is_silent(at->helper.socket.get())) {
    dismiss(at);
    return std::nullopt;
  }
  Helper helper = std::move(at->helper);
  places_.erase(at);
  return helper;
}

void WaitingHelpers::forget(pid_t pid) {
  places_.remove_if([pid](const Place& place) { return place.helper.pid == pid; });
}

void WaitingHelpers::dismiss_all() {
  while (!places_.empty()) dismiss(places_.begin());
}

void WaitingHelpers::dismiss(At at) {
  const pid_t pid = at->helper.pid;
  places_.erase(at);  // its end of the socket closes with it
  dismissed_(pid);
}

}  // namespace cay::keeper
