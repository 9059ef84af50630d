#include "gate/both.h"

#include <sys/socket.h>

#include <boost/system/system_error.hpp>

namespace cay::gate {
namespace {

constexpr std::size_t kMostKept = 64 * 1024;

FirstAnswer read_answer(Proof to, std::string_view said) {
  switch (to) {
    case Proof::kNone: return FirstAnswer::kOther;
    case Proof::kHttp: return read_http_answer(said);
    case Proof::kTls: return read_server_hello(said);
  }
  return FirstAnswer::kOther;
}

Allowance& left_of(Both& both, Way way) { return way == Way::kOut ? both.left.sent : both.left.received; }

// Passes on what the server says until that is an answer. false: either side broke.
asio::awaitable<bool> listen(Both& both) {
  std::string said, part = std::move(both.early);
  for (;;) {
    if (!part.empty()) {
      said += part;
      const std::size_t size = part.size();
      const FirstAnswer answer = said.size() > 2 * kMostFirstAnswer ? FirstAnswer::kOther : read_answer(*both.answers, said);
      if (!may_pass(both, Way::kBack, size)) co_return false;
      const bool gone = co_await send_all(both.guest, std::move(part));
      if (!gone) co_return false;
      both.moved.received += size;
      part.clear();
      if (answer != FirstAnswer::kMore) {
        both.answer = answer;
        break;
      }
    }
    const auto heard = take(both.outside, part);
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

asio::awaitable<Heard> wait_for_answer(Both& both, std::string& kept) {
  bool ended = false;
  while (!both.answer) {
    if (both.broken) co_return Heard::kBroken;
    if (ended || kept.size() >= kMostKept) {
      co_await both.answered.wait();
      continue;
    }
    const auto heard = take(both.guest, kept, kMostKept - kept.size());
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
    // What the guest has said by now goes first: few servers have anything to say before.
    if (way == Way::kBack) {
      co_await give_way();
    }
    if (way == Way::kBack && both->answers) {
      goes_on = co_await listen(*both);
    } else if (way == Way::kBack && !both->early.empty()) {
      const std::size_t size = both->early.size();
      goes_on = may_pass(*both, way, size);
      if (goes_on) {
        goes_on = co_await send_all(to, std::move(both->early));
      }
      if (goes_on) both->moved.received += size;
    }
    if (goes_on) {
      end = co_await pump(from, to, pipes, buffers, left_of(*both, way), way == Way::kOut ? both->moved.sent : both->moved.received);
    }
  } catch (const boost::system::system_error&) {
    if (!both->broken) throw;
  }
  if (end == PumpEnd::kUsedUp && both->left.when_used_up) both->left.when_used_up();
  if (way == Way::kBack) both->heard_out.set();
  if (end == PumpEnd::kFinished || both->broken) co_return;
  both->starved = end == PumpEnd::kStarved;
  break_off(*both);
}

bool may_pass(Both& both, Way way, std::size_t bytes) {
  Allowance& left = left_of(both, way);
  const bool may = left.has(bytes);
  left.take(bytes);
  if (!may && both.left.when_used_up) both.left.when_used_up();
  return may;
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
