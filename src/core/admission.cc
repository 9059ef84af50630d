#include "core/admission.h"

#include <algorithm>
#include <deque>
#include <map>

namespace cay::core {
namespace {

// The wish of one waiter: a tenant's slot, room on the host, or a place to boot.
struct Want {
  enum class What : std::uint8_t { kSlot, kRoom, kPlace } what = What::kSlot;
  TenantId tenant;  // whose slot, or whose sandbox
  Limits room;
  bool before_new = false;
};
using What = Want::What;

Error exhausted(std::string reason, std::string message) {
  return {Code::kExhausted, std::move(reason), std::move(message), 0};
}

std::string mib(std::uint64_t bytes) { return std::to_string(bytes >> 20) + " MiB"; }

}  // namespace

struct Admission::Waiter {
  Waiter(asio::any_io_executor loop, Want w) : want(std::move(w)), granted(std::move(loop)) {}
  Want want;
  Event::Deadline since = std::chrono::steady_clock::now();
  Grant grant;
  Event granted;
};

struct Admission::State {
  using Queue = std::deque<std::shared_ptr<Waiter>>;
  struct Given {
    std::uint64_t memory = 0, cpu = 0;
    std::uint32_t running = 0;
  };
  asio::any_io_executor loop;
  HostLimits limits;
  HostCapacity capacity;
  Millis overtake_limit{};
  std::map<TenantId, std::uint32_t> sandboxes;
  std::map<TenantId, Given> given;  // of room; none: an entry less
  std::uint64_t memory = 0;
  std::uint64_t cpu = 0;
  std::uint32_t booting = 0;
  // One queue each, so that a tenant at its limit, or one that waits for much, delays only those
  // who want the same.
  std::map<TenantId, Queue> for_slot;
  std::map<TenantId, Queue> for_room;  // those that go before_new are in front
  Queue for_place;
  TenantId turn;  // whose queue for room was looked at last
  std::weak_ptr<State> self;

  Queue& queue_of(const Want& want) {
    if (want.what == What::kSlot) return for_slot[want.tenant];
    return want.what == What::kRoom ? for_room[want.tenant] : for_place;
  }
  // Behind those in its queue that it must not overtake.
  static Queue::iterator place_in(Queue& queue, const Want& want) {
    if (!want.before_new) return queue.end();
    return std::ranges::find_if(queue, [](const auto& waiter) { return !waiter->want.before_new; });
  }
  // Returns whether the tenant of a queued waiter would stay within its part of the host. That is
  // the host's room, divided by the tenants that run or wait for something.
  bool within_share(const Want& want) const {
    std::uint64_t tenants = given.size();
    for (const auto& [tenant, queue] : for_room)
      tenants += queue.empty() || given.contains(tenant) ? 0 : 1;
    const auto has = given.find(want.tenant);
    const Given now = has == given.end() ? Given{} : has->second;
    if (memory_limit() != 0 && now.memory + want.room.memory_bytes > memory_limit() / tenants)
      return false;
    return cpu_limit() == 0 || now.cpu + want.room.cpu_millicores <= cpu_limit() / tenants;
  }
  // Whether what is free is kept for a tenant that waits for its share, from one that would have
  // more than its own.
  bool held_back(const Want& want) const {
    if (want.what != What::kRoom || for_room.empty() || within_share(want)) return false;
    const auto long_ago = std::chrono::steady_clock::now() - overtake_limit;
    return std::ranges::any_of(for_room, [&](const auto& entry) {
      const auto& [tenant, queue] = entry;
      return !queue.empty() && tenant != want.tenant && queue.front()->since <= long_ago &&
             within_share(queue.front()->want);
    });
  }
  std::uint64_t memory_limit() const {
    if (capacity.memory_bytes <= limits.memory_reserve_bytes)
      return capacity.memory_bytes == 0 ? 0 : 1;
    const auto free = static_cast<double>(capacity.memory_bytes - limits.memory_reserve_bytes);
    return static_cast<std::uint64_t>(free * limits.memory_overcommit);
  }
  std::uint64_t cpu_limit() const {
    return static_cast<std::uint64_t>(capacity.cpu_millicores * limits.cpu_overcommit);
  }

  // Why `want` cannot be had now; nothing: it can.
  std::optional<Error> obstacle(const Want& want) {
    if (want.what == What::kSlot) {
      if (sandboxes[want.tenant] < limits.max_sandboxes) return std::nullopt;
      return exhausted("quota_sandboxes",
                       "sandbox limit reached: " + std::to_string(limits.max_sandboxes) +
                           " sandboxes exist; delete some, or raise max_sandboxes");
    }
    if (want.what == What::kPlace) {
      if (booting < limits.max_parallel_boots) return std::nullopt;
      return Error{Code::kDeadlineExceeded, "boot_timeout",
                   "too many sandboxes are starting: try again", 0};
    }
    if (memory_limit() != 0 && memory + want.room.memory_bytes > memory_limit()) {
      return exhausted("quota_memory",
                       "memory is exhausted: requested " + mib(want.room.memory_bytes) +
                           ", which the host has not left; stop sandboxes, or ask for less");
    }
    if (cpu_limit() != 0 && cpu + want.room.cpu_millicores > cpu_limit()) {
      return exhausted(
          "quota_cpu",
          "cpu is exhausted: requested " + std::to_string(want.room.cpu_millicores) +
              " millicores, which the host has not left; stop sandboxes, or ask for less");
    }
    if (capacity.free_disk_bytes) {
      const std::uint64_t free = capacity.free_disk_bytes();
      if (free < limits.disk_reserve_bytes) {
        return exhausted("quota_storage",
                         "storage is exhausted: the host has only left what it keeps back; delete "
                         "sandboxes, or free disk space");
      }
    }
    return std::nullopt;
  }

  // Whether it never fits, with nothing else running.
  std::optional<Error> impossible(const Want& want) const {
    if (memory_limit() != 0 && want.room.memory_bytes > memory_limit()) {
      return exhausted("quota_memory", "memory: requested " + mib(want.room.memory_bytes) +
                                           ", this host gives at most " + mib(memory_limit()));
    }
    if (cpu_limit() != 0 && want.room.cpu_millicores > cpu_limit()) {
      return exhausted("quota_cpu", "cpu: requested " + std::to_string(want.room.cpu_millicores) +
                                        " millicores, this host gives at most " +
                                        std::to_string(cpu_limit()));
    }
    return std::nullopt;
  }
};

namespace {

// Gives its first one what it waits for, if that can be.
template <class Queue, class StateT, class Take>
bool serve_first(Queue& queue, StateT& state, const Take& take) {
  if (queue.empty() || state.obstacle(queue.front()->want) || state.held_back(queue.front()->want))
    return false;
  auto waiter = queue.front();
  queue.pop_front();
  waiter->grant = take(waiter->want);
  waiter->granted.set();
  return true;
}

template <class Queue, class StateT, class Take>
void serve(Queue& queue, StateT& state, const Take& take) {
  while (serve_first(queue, state, take)) {
  }
}

// One of each tenant in turn, until of none the first can be served.
template <class StateT, class Take>
void serve_in_turn(StateT& state, const Take& take) {
  auto& queues = state.for_room;
  for (std::size_t passed = 0; passed < queues.size();) {
    auto next = queues.upper_bound(state.turn);
    if (next == queues.end()) next = queues.begin();
    state.turn = next->first;
    passed = serve_first(next->second, state, take) ? 0 : passed + 1;
  }
}

}  // namespace

Admission::Admission(asio::any_io_executor loop, HostLimits limits, HostCapacity capacity,
                     Millis overtake_limit)
    : state_(std::make_shared<State>()) {
  state_->loop = std::move(loop);
  state_->limits = limits;
  state_->capacity = std::move(capacity);
  state_->overtake_limit = overtake_limit;
  state_->self = state_;
}

Grant Admission::take_slot(const std::shared_ptr<State>& state, const TenantId& tenant) {
  ++state->sandboxes[tenant];
  return Grant([state, tenant] {
    if (--state->sandboxes[tenant] == 0) state->sandboxes.erase(tenant);
    pump(*state);
  });
}

Grant Admission::take_room(const std::shared_ptr<State>& state, const TenantId& tenant,
                           const Limits& limits) {
  const std::uint64_t memory = limits.memory_bytes;
  const std::uint64_t cpu = limits.cpu_millicores;
  auto& given = state->given[tenant];
  state->memory += memory;
  state->cpu += cpu;
  given.memory += memory;
  given.cpu += cpu;
  ++given.running;
  return Grant([state, tenant, memory, cpu] {
    auto& less = state->given[tenant];
    state->memory -= memory;
    state->cpu -= cpu;
    less.memory -= memory;
    less.cpu -= cpu;
    if (--less.running == 0) state->given.erase(tenant);
    pump(*state);
  });
}

Grant Admission::take_place(const std::shared_ptr<State>& state) {
  ++state->booting;
  return Grant([state] {
    --state->booting;
    pump(*state);
  });
}

void Admission::pump(State& state) {
  const auto self = state.self.lock();
  for (auto& [tenant, queue] : state.for_slot)
    serve(queue, state, [&](const Want& want) { return take_slot(self, want.tenant); });
  serve_in_turn(state, [&](const Want& want) { return take_room(self, want.tenant, want.room); });
  serve(state.for_place, state, [&](const Want&) { return take_place(self); });
  const auto is_empty = [](const auto& entry) { return entry.second.empty(); };
  std::erase_if(state.for_slot, is_empty);
  std::erase_if(state.for_room, is_empty);
}

Task<Grant> Admission::wait(std::shared_ptr<State> state, std::shared_ptr<Waiter> waiter,
                            Event::Deadline deadline) {
  const Want& want = waiter->want;
  if (auto never = state->impossible(want)) co_return *std::move(never);
  // Leaves the queue however the wait ends; a grant that came too late goes back with the waiter.
  struct Queued {
    State& of;
    std::shared_ptr<Waiter> waiter;
    Queued(State& s, std::shared_ptr<Waiter> w) : of(s), waiter(std::move(w)) {
      auto& queue = of.queue_of(waiter->want);
      queue.insert(State::place_in(queue, waiter->want), waiter);
    }
    Queued(const Queued&) = delete;
    Queued& operator=(const Queued&) = delete;
    ~Queued() {
      std::erase(of.queue_of(waiter->want), waiter);
      pump(of);  // those behind may fit
    }
  } queued(*state, waiter);
  pump(*state);
  if (waiter->granted.is_set()) co_return std::move(waiter->grant);
  for (;;) {
    // Free disk space changes without a word: look again now and then.
    constexpr std::chrono::milliseconds kLook{500};
    const auto until = std::min(deadline, deadline_in(kLook));
    auto woken = co_await waiter->granted.wait_until(until);
    if (woken) co_return std::move(waiter->grant);
    pump(*state);
    if (waiter->granted.is_set()) co_return std::move(waiter->grant);
    if (std::chrono::steady_clock::now() >= deadline) {
      auto why = state->obstacle(want);
      if (!why)
        why = exhausted("quota_queue", "others wait longer for memory, cpu or storage: try again");
      co_return *std::move(why);
    }
  }
}

Task<Grant> Admission::slot(TenantId tenant, Event::Deadline deadline) {
  Want want;
  want.tenant = std::move(tenant);
  auto waiter = std::make_shared<Waiter>(state_->loop, std::move(want));
  return wait(state_, std::move(waiter), deadline);
}

Result<Grant> Admission::slot_now(const TenantId& tenant) {
  Want want;
  want.tenant = tenant;
  if (auto why = state_->obstacle(want)) return *std::move(why);
  return take_slot(state_, tenant);
}

Task<Grant> Admission::room(TenantId tenant, Limits limits, Order order, Event::Deadline deadline) {
  Want want;
  want.what = What::kRoom;
  want.tenant = std::move(tenant);
  want.room = limits;
  want.before_new = order == Order::kBeforeNew;
  auto waiter = std::make_shared<Waiter>(state_->loop, std::move(want));
  return wait(state_, std::move(waiter), deadline);
}

Task<Grant> Admission::place(Event::Deadline deadline) {
  Want want;
  want.what = What::kPlace;
  auto waiter = std::make_shared<Waiter>(state_->loop, std::move(want));
  return wait(state_, std::move(waiter), deadline);
}

std::optional<Error> Admission::obstacle(const Limits& limits) const {
  Want want;
  want.what = What::kRoom;
  want.room = limits;
  return state_->obstacle(want);
}

Error Admission::for_operator(Error why) const {
  const State& now = *state_;
  if (why.reason == "quota_memory")
    why.message += " (" + mib(now.memory) + " of " + mib(now.memory_limit()) +
                   " are given to running sandboxes)";
  if (why.reason == "quota_cpu")
    why.message += " (" + std::to_string(now.cpu) + " of " + std::to_string(now.cpu_limit()) +
                   " millicores are given to running sandboxes)";
  if (why.reason == "quota_storage" && now.capacity.free_disk_bytes) {
    why.message += " (" + mib(now.capacity.free_disk_bytes()) + " are free, " +
                   mib(now.limits.disk_reserve_bytes) + " are kept back)";
  }
  return why;
}

Grant Admission::slot_of_existing(const TenantId& tenant) { return take_slot(state_, tenant); }
Grant Admission::room_of_existing(const TenantId& tenant, Limits limits) {
  return take_room(state_, tenant, limits);
}

Admission::Waiting Admission::waiting() const {
  Waiting out;
  for (const auto& [tenant, queue] : state_->for_slot) out.for_slot += queue.size();
  for (const auto& [tenant, queue] : state_->for_room) out.for_room += queue.size();
  out.for_place = state_->for_place.size();
  return out;
}

std::uint64_t Admission::memory_limit() const { return state_->memory_limit(); }
std::uint64_t Admission::cpu_limit() const { return state_->cpu_limit(); }
std::uint32_t Admission::sandboxes_limit() const { return state_->limits.max_sandboxes; }

}  // namespace cay::core
