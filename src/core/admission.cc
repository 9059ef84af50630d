#include "core/admission.h"

#include <algorithm>
#include <deque>
#include <map>

namespace cay::core {
namespace {

// What one waiter wants: any of a tenant's slot, room on the host, a place to boot.
struct Want {
  std::optional<TenantId> tenant;
  Limits room;
  int places = 0;
};

Error exhausted(std::string reason, std::string message) {
  return {Code::kExhausted, std::move(reason), std::move(message), 0};
}

std::string mib(std::uint64_t bytes) { return std::to_string(bytes >> 20) + " MiB"; }

}  // namespace

struct Admission::Waiter {
  Waiter(asio::any_io_executor loop, Want w) : want(std::move(w)), granted(std::move(loop)) {}
  Want want;
  Grant grant;
  Event granted;
};

struct Admission::State {
  asio::any_io_executor loop;
  HostLimits limits;
  HostCapacity capacity;
  std::map<TenantId, std::uint32_t> sandboxes;
  std::uint64_t memory = 0;
  std::uint64_t cpu = 0;
  std::uint32_t booting = 0;
  // One queue each, so that a tenant at its limit, or a full host, delays only those who want the same.
  std::map<TenantId, std::deque<std::shared_ptr<Waiter>>> for_slot;
  std::deque<std::shared_ptr<Waiter>> for_room;
  std::deque<std::shared_ptr<Waiter>> for_place;
  std::weak_ptr<State> self;

  std::deque<std::shared_ptr<Waiter>>& queue_of(const Want& want) {
    if (want.tenant) return for_slot[*want.tenant];
    return want.places > 0 ? for_place : for_room;
  }
  std::uint64_t memory_limit() const {
    if (capacity.memory_bytes <= limits.memory_reserve_bytes) return capacity.memory_bytes == 0 ? 0 : 1;
    const auto free = static_cast<double>(capacity.memory_bytes - limits.memory_reserve_bytes);
    return static_cast<std::uint64_t>(free * limits.memory_overcommit);
  }
  std::uint64_t cpu_limit() const {
    return static_cast<std::uint64_t>(capacity.cpu_millicores * limits.cpu_overcommit);
  }

  // Why `want` cannot be had now; nothing: it can.
  std::optional<Error> obstacle(const Want& want) {
    if (want.tenant) {
      if (sandboxes[*want.tenant] < limits.max_sandboxes) return std::nullopt;
      return exhausted("quota_sandboxes", "sandbox limit reached: " + std::to_string(limits.max_sandboxes) +
                                              " sandboxes exist; delete some, or raise max_sandboxes");
    }
    if (want.places > 0) {
      if (booting < limits.max_parallel_boots) return std::nullopt;
      return Error{Code::kDeadlineExceeded, "boot_timeout", "too many sandboxes are starting: try again", 0};
    }
    if (memory_limit() != 0 && memory + want.room.memory_bytes > memory_limit()) {
      return exhausted("quota_memory", "memory is exhausted: asked " + mib(want.room.memory_bytes) +
                                           ", which the host has not left; stop sandboxes, or ask for less");
    }
    if (cpu_limit() != 0 && cpu + want.room.cpu_millicores > cpu_limit()) {
      return exhausted("quota_cpu", "cpu is exhausted: asked " + std::to_string(want.room.cpu_millicores) +
                                        " millicores, which the host has not left; stop sandboxes, or ask for less");
    }
    if (capacity.free_disk_bytes) {
      const std::uint64_t free = capacity.free_disk_bytes();
      if (free < limits.disk_reserve_bytes) {
        return exhausted("quota_storage", "storage is exhausted: the host has only left what it keeps back; delete sandboxes, or free disk space");
      }
    }
    return std::nullopt;
  }

  // Whether it never fits, with nothing else running.
  std::optional<Error> impossible(const Want& want) const {
    if (memory_limit() != 0 && want.room.memory_bytes > memory_limit()) {
      return exhausted("quota_memory", "memory: asked " + mib(want.room.memory_bytes) + ", this host gives at most " + mib(memory_limit()));
    }
    if (cpu_limit() != 0 && want.room.cpu_millicores > cpu_limit()) {
      return exhausted("quota_cpu", "cpu: asked " + std::to_string(want.room.cpu_millicores) +
                                        " millicores, this host gives at most " + std::to_string(cpu_limit()));
    }
    return std::nullopt;
  }
};

namespace {

template <class Queue, class StateT, class Take>
void serve(Queue& queue, StateT& state, const Take& take) {
  while (!queue.empty() && !state.obstacle(queue.front()->want)) {
    auto waiter = queue.front();
    queue.pop_front();
    waiter->grant = take(waiter->want);
    waiter->granted.set();
  }
}

}  // namespace

Admission::Admission(asio::any_io_executor loop, HostLimits limits, HostCapacity capacity)
    : state_(std::make_shared<State>()) {
  state_->loop = std::move(loop);
  state_->limits = limits;
  state_->capacity = std::move(capacity);
  state_->self = state_;
}

Grant Admission::take(const std::shared_ptr<State>& state, const TenantId* tenant, Limits limits, int places) {
  if (tenant != nullptr) {
    ++state->sandboxes[*tenant];
    return Grant([state, who = *tenant] {
      if (--state->sandboxes[who] == 0) state->sandboxes.erase(who);
      pump(*state);
    });
  }
  if (places > 0) {
    ++state->booting;
    return Grant([state] {
      --state->booting;
      pump(*state);
    });
  }
  state->memory += limits.memory_bytes;
  state->cpu += limits.cpu_millicores;
  return Grant([state, limits] {
    state->memory -= limits.memory_bytes;
    state->cpu -= limits.cpu_millicores;
    pump(*state);
  });
}

void Admission::pump(State& state) {
  const auto self = state.self.lock();
  const auto take_for = [&](const Want& want) {
    return take(self, want.tenant ? &*want.tenant : nullptr, want.room, want.places);
  };
  for (auto& [tenant, queue] : state.for_slot) serve(queue, state, take_for);
  std::erase_if(state.for_slot, [](const auto& entry) { return entry.second.empty(); });
  serve(state.for_room, state, take_for);
  serve(state.for_place, state, take_for);
}

Task<Grant> Admission::wait(std::shared_ptr<State> state, std::shared_ptr<Waiter> waiter,
                            Event::Deadline deadline) {
  const Want& want = waiter->want;
  if (auto never = state->impossible(want)) co_return *std::move(never);
  if (state->queue_of(want).empty() && !state->obstacle(want)) {
    co_return take(state, want.tenant ? &*want.tenant : nullptr, want.room, want.places);
  }
  // Leaves the queue however the wait ends; a grant that came too late goes back with the waiter.
  struct Queued {
    State& of;
    std::shared_ptr<Waiter> waiter;
    Queued(State& s, std::shared_ptr<Waiter> w) : of(s), waiter(std::move(w)) {
      of.queue_of(waiter->want).push_back(waiter);
    }
    Queued(const Queued&) = delete;
    Queued& operator=(const Queued&) = delete;
    ~Queued() {
      std::erase(of.queue_of(waiter->want), waiter);
      pump(of);  // those behind may fit
    }
  } queued(*state, waiter);
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
      if (!why) why = exhausted("quota_queue", "others wait longer for memory, cpu or storage: try again");
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
  return take(state_, &tenant, {}, 0);
}

Task<Grant> Admission::room(Limits limits, Event::Deadline deadline) {
  Want want;
  want.room = limits;
  auto waiter = std::make_shared<Waiter>(state_->loop, std::move(want));
  return wait(state_, std::move(waiter), deadline);
}

Task<Grant> Admission::place(Event::Deadline deadline) {
  Want want;
  want.places = 1;
  auto waiter = std::make_shared<Waiter>(state_->loop, std::move(want));
  return wait(state_, std::move(waiter), deadline);
}

std::optional<Error> Admission::obstacle(const Limits& limits) const {
  Want want;
  want.room = limits;
  return state_->obstacle(want);
}

Error Admission::for_operator(Error why) const {
  const State& now = *state_;
  if (why.reason == "quota_memory") why.message += " (" + mib(now.memory) + " of " + mib(now.memory_limit()) + " are given to running sandboxes)";
  if (why.reason == "quota_cpu") why.message += " (" + std::to_string(now.cpu) + " of " + std::to_string(now.cpu_limit()) + " millicores are given to running sandboxes)";
  if (why.reason == "quota_storage" && now.capacity.free_disk_bytes) {
    why.message += " (" + mib(now.capacity.free_disk_bytes()) + " are free, " + mib(now.limits.disk_reserve_bytes) + " are kept back)";
  }
  return why;
}

Grant Admission::slot_of_existing(const TenantId& tenant) { return take(state_, &tenant, {}, 0); }
Grant Admission::room_of_existing(Limits limits) { return take(state_, nullptr, limits, 0); }

Admission::Waiting Admission::waiting() const {
  Waiting out;
  for (const auto& [tenant, queue] : state_->for_slot) out.for_slot += queue.size();
  out.for_room = state_->for_room.size();
  out.for_place = state_->for_place.size();
  return out;
}

std::uint64_t Admission::memory_limit() const { return state_->memory_limit(); }
std::uint64_t Admission::cpu_limit() const { return state_->cpu_limit(); }
std::uint32_t Admission::sandboxes_limit() const { return state_->limits.max_sandboxes; }

}  // namespace cay::core
