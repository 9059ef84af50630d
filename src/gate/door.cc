#include "gate/door.h"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <exception>

#include "async/deadline.h"
#include "base/bounded_call.h"
#include "gate/handover.h"

namespace cay::gate {
namespace {

constexpr Millis kWriteEvery{20};  // many changes become one file
constexpr Millis kOutOfDescriptors{100};
constexpr std::size_t kPerFamily = 2;  // TCP, then UDP

}  // namespace

Door::Door(House& house, const std::string& sandbox_id, const std::string& policy, std::vector<UniqueFd> sockets)
    : house_(house),
      id_(sandbox_id),
      lent_(policy),
      standing_(standing_of(chosen())),
      decisions_(house.directory, sandbox_id, standing_.choice.policy, standing_.choice.rules),
      left_{Allowance(house.sent_most, decisions_.sent(), [this](std::uint64_t up_to) { decisions_.set_aside_sent(up_to); }),
            Allowance(house.received_most, decisions_.received(), [this](std::uint64_t up_to) { decisions_.set_aside_received(up_to); }), [this] { end_all(); }},
      written_(house.loop),
      moves_(house.loop),
      children_(house.loop),
      fewer_questions_(house.loop),
      looking_(house.loop) {
  for (UniqueFd& fd : sockets) sockets_.emplace_back(house.loop, fd.release());
  for (std::size_t i = 0; i + 1 < sockets_.size(); i += kPerFamily) tune(sockets_[i].native_handle());
  shape_listeners();
}

Door::~Door() {
  wire::BrokerRoutes none;
  none.sandbox_id = id_;
  if (house_.handover != nullptr) house_.handover->written(none);
}

Door::Place::Place(Door& door, Buffers buffers)
    : buffers(buffers), door_(door), own_(door.connections_), of_all_(door.house_.connections), cost_(door.house_.memory.cost(buffers)) {
  door_.held_ += cost_;
  door_.house_.held += cost_;
  door_.shape_listeners();
}

Door::Place::~Place() {
  door_.held_ -= cost_;
  door_.house_.held -= cost_;
  door_.shape_listeners();
}

// Nothing, and a line that says why, where there is none.
std::shared_ptr<const Door::Place> Door::place_for_one() {
  const auto refuse = [&](const char* reason) {
    note({.host = "*", .address = {}, .port = 0, .allowed = false, .reason = reason});
    return nullptr;
  };
  if (!new_ones_.take(std::chrono::steady_clock::now())) return refuse("too_many_new_connections");
  if (!has_room(connections_, house_.connections, house_.most_connections, house_.doors)) return refuse("too_many_connections");
  const auto buffers = house_.memory.fit(held_, house_.held, house_.doors);
  if (!buffers) return refuse("too_many_connections");
  return std::make_shared<const Place>(*this, *buffers);
}

// What comes next is sent by the window that the listener tells, before it is accepted.
void Door::shape_listeners() {
  const Buffers next = house_.memory.fit(held_, house_.held, house_.doors).value_or(Buffers::kTiny);
  if (listening_ == next) return;
  listening_ = next;
  for (std::size_t i = 0; i + 1 < sockets_.size(); i += kPerFamily) set_buffers(sockets_[i].native_handle(), SocketMemory::inside(next));
}

bool Door::has_room(std::size_t own, std::size_t all, std::size_t most, std::size_t doors) {
  if (own >= kMostConnections || all >= most) return false;
  return all < most - most / 4 || own < most / 4 / std::max<std::size_t>(doors, 1);
}

asio::awaitable<void> Door::run() {
  const Counted counted(house_.doors);
  for (std::size_t i = 0; i + 1 < sockets_.size(); i += kPerFamily) {
    children_.spawn(accept_all(i));
    children_.spawn(answer_datagrams(i + 1));
  }
  children_.spawn(tell_all());
  std::exception_ptr failure;
  try {
    co_await children_.until(keep_written());
  } catch (...) {
    failure = std::current_exception();
  }
  decisions_.close();  // what was open has told what it moved
  if (failure) std::rethrow_exception(failure);
}

asio::awaitable<void> Door::keep_written() {
  for (;;) {
    if (!decisions_.dirty()) {
      co_await written_.wait();
    }
    written_.reset();
    static_cast<void>(decisions_.write());  // a full disk: what was decided stays in memory, and is written with the next
    co_await sleep_for(kWriteEvery);
  }
}

asio::awaitable<Door::Look> Door::look_at_rules_in_turn() {
  auto turn = co_await looking_.lock();
  if (looks_.turn_is_over()) {
    co_await give_way();
  }
  for (;;) {
    const auto owed = looks_.owed(LookBudget::Clock::now(), LookBudget::share(house_.doors));
    if (owed <= LookBudget::Clock::duration::zero()) break;
    co_await sleep_for(std::chrono::ceil<Millis>(owed));
  }
  co_return Look(*this, std::move(turn));
}

void Door::Look::end() {
  if (door_ == nullptr) return;
  const auto now = LookBudget::Clock::now();
  door_->looks_.charge(now - begun_, now, LookBudget::share(door_->house_.doors));
  door_ = nullptr;
  turn_.unlock();
}

bool Door::may_look_up(const std::string& name) {
  const bool is_new = !new_names_.has(name);
  if (!new_names_.may_ask(name, std::chrono::steady_clock::now())) {
    // Not each name: they are what would be carried out.
    note({.host = "*", .address = {}, .port = 0, .allowed = false, .reason = kTooManyNewNames});
    return false;
  }
  if (!is_new) return true;
  // Whoever answers for its domain reads it.
  const bool may = left_.sent.has(name.size());
  left_.sent.take(name.size());
  if (may) {
    decisions_.moved({}, name.size(), 0);
    written_.set();
    return true;
  }
  note({.host = name, .address = {}, .port = 0, .allowed = false, .reason = kBytesUsedUp});
  end_all();
  return false;
}

void Door::note(const Decisions::What& what, Decisions::Line* line) {
  auto made = decisions_.note(what, system_clock().wall());
  if (line != nullptr) *line = std::move(made);
  written_.set();
}

asio::awaitable<void> Door::accept_all(std::size_t which) {
  Descriptor& at = sockets_[which];
  for (int in_a_row = 0;; ++in_a_row) {
    if (in_a_row >= kMostInARow) {
      in_a_row = 0;
      co_await give_way();
    }
    // The keeper has the listener too. One that it makes wait is listened to no more: that is its own sandbox's loss.
    UniqueFd fd(bounded([&] { return ::accept4(at.native_handle(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK); }));
    if (!fd && errno == EAGAIN) {
      co_await readable(at);
      continue;
    }
    if (!fd && (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)) {
      co_await sleep_for(kOutOfDescriptors);
      continue;
    }
    if (!fd && errno == ECONNABORTED) continue;
    if (!fd) co_return;
    on_close(fd.get(), OnClose::kReset);
    auto place = place_for_one();
    if (!place) continue;
    set_buffers(fd.get(), SocketMemory::inside(place->buffers));
    house_.watchful.came();
    children_.spawn(serve(std::move(fd), std::move(place)));
  }
}

}  // namespace cay::gate
