#include "gate/both.h"

#include <sys/socket.h>

#include <algorithm>
#include <boost/system/system_error.hpp>
#include <cerrno>

namespace cay::gate {
namespace {

constexpr std::size_t kAtOnce = 16 * 1024;
constexpr std::size_t kMostKept = 64 * 1024;

// A buffer on the stack: whoever waits holds only what there is. nullopt: there is nothing now.
std::optional<Heard> take(int socket_fd, std::string& kept, std::size_t most) {
  char buffer[kAtOnce];
  for (;;) {
    const ssize_t got = ::recv(socket_fd, buffer, std::min(sizeof buffer, most), MSG_DONTWAIT);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) return std::nullopt;
    if (got <= 0) return got == 0 ? Heard::kEnd : Heard::kBroken;
    kept.append(buffer, static_cast<std::size_t>(got));
    return Heard::kSome;
  }
}

// Passes on what the server says until that is an answer. false: either side broke.
asio::awaitable<bool> listen(Both& both) {
  std::string said, part = std::move(both.early);
  for (;;) {
    if (!part.empty()) {
      said += part;
      const std::size_t size = part.size();
      const FirstAnswer answer = said.size() > 2 * kMostFirstAnswer ? FirstAnswer::kOther : both.listens(said);
      const bool gone = co_await send_all(both.guest, std::move(part));
      if (!gone) co_return false;
      both.moved.received += size;
      part.clear();
      if (answer != FirstAnswer::kMore) {
        both.answer = answer;
        break;
      }
    }
    const auto heard = take(both.outside.native_handle(), part, kAtOnce);
    if (heard == Heard::kBroken) co_return false;
    if (heard == Heard::kEnd) {
      both.answer = FirstAnswer::kOther;
      break;
    }
    if (!heard) {
      co_await readable(both.outside);
    }
  }
  both.answered.set();
  if (both.hears_meanwhile) both.guest.cancel();
  co_return true;
}

}  // namespace

asio::awaitable<bool> send_all(Descriptor& to, std::string bytes) {
  std::string_view rest = bytes;
  while (!rest.empty()) {
    const ssize_t done = ::send(to.native_handle(), rest.data(), rest.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (done < 0 && errno == EINTR) continue;
    if (done < 0 && errno == EAGAIN) {
      co_await writable(to);
      continue;
    }
    if (done < 0) co_return false;
    rest.remove_prefix(static_cast<std::size_t>(done));
  }
  co_return true;
}

asio::awaitable<Heard> hear(Descriptor& guest, std::string& kept) {
  for (;;) {
    const auto heard = take(guest.native_handle(), kept, kAtOnce);
    if (heard) co_return *heard;
    co_await readable(guest);
  }
}

asio::awaitable<Heard> wait_for_answer(Both& both, std::string& kept) {
  bool ended = false;
  while (!both.answer) {
    if (both.broken) co_return Heard::kBroken;
    if (ended || kept.size() >= kMostKept) {
      co_await both.answered.wait();
      continue;
    }
    const auto heard = take(both.guest.native_handle(), kept, kMostKept - kept.size());
    ended = heard == Heard::kEnd;
    if (heard == Heard::kBroken || (ended && kept.empty())) co_return *heard;
    if (heard) continue;
    both.hears_meanwhile = true;
    try {
      co_await readable(both.guest);
    } catch (const boost::system::system_error&) {
      if (!both.answer || both.broken) throw;
    }
    both.hears_meanwhile = false;
  }
  co_return Heard::kSome;
}

asio::awaitable<void> one_way(std::shared_ptr<Both> both, Way way, PipePool& pipes, Buffers buffers) {
  Descriptor& from = way == Way::kOut ? both->guest : both->outside;
  Descriptor& to = way == Way::kOut ? both->outside : both->guest;
  auto end = PumpEnd::kBroken;
  try {
    bool goes_on = true;
    if (way == Way::kBack && both->listens) {
      goes_on = co_await listen(*both);
    } else if (way == Way::kBack && !both->early.empty()) {
      const std::size_t size = both->early.size();
      goes_on = co_await send_all(to, std::move(both->early));
      if (goes_on) both->moved.received += size;
    }
    if (goes_on) {
      end = co_await pump(from, to, pipes, buffers, way == Way::kOut ? both->moved.sent : both->moved.received);
    }
  } catch (const boost::system::system_error&) {
    if (!both->broken) throw;
  }
  if (way == Way::kBack) both->heard_out.set();
  if (end == PumpEnd::kFinished || both->broken) co_return;
  both->starved = end == PumpEnd::kStarved;
  break_off(*both);
}

void break_off(Both& both) {
  both.broken = true;
  both.answered.set();
  both.guest.cancel();
  both.outside.cancel();
}

void cut(Both& both) {
  for (Descriptor* one : {&both.guest, &both.outside}) gate::cut(one->native_handle());
  break_off(both);
}

}  // namespace cay::gate
