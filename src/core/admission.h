// Admission decides which requests get memory, CPUs, disk and boots at once, and which wait.
// Waiters of one tenant are served first come, first served. A request that can never fit is
// refused at once. A Grant gives back its part when it is destroyed.
//
// Room on the host: tenants are served in turn. A first waiter that does not fit yet holds up its
// own tenant alone. After overtake_limit the free room is kept for that waiter, if its tenant stays
// within its share with it: the host's room, divided by the tenants that run or wait. The room is
// kept from tenants that would exceed their share. So a tenant within its share waits for no other
// tenant's waiter, and is served once the others are down to theirs. Less than one share lies idle.
#pragma once
#include <functional>
#include <memory>

#include "async/event.h"
#include "async/task.h"
#include "core/settings.h"
#include "model/ids.h"
#include "model/limits.h"

namespace cay::core {

class Grant {
 public:
  Grant() = default;
  explicit Grant(std::function<void()> release) : release_(std::move(release)) {}
  Grant(Grant&& other) noexcept : release_(std::exchange(other.release_, nullptr)) {}
  Grant& operator=(Grant&& other) noexcept {
    if (this != &other) {
      reset();
      release_ = std::exchange(other.release_, nullptr);
    }
    return *this;
  }
  ~Grant() { reset(); }
  void reset() {
    if (auto release = std::exchange(release_, nullptr)) release();
  }
  explicit operator bool() const { return release_ != nullptr; }

 private:
  std::function<void()> release_;
};

class Admission {
 public:
  Admission(asio::any_io_executor loop, HostLimits limits, HostCapacity capacity,
            Millis overtake_limit);

  // One more sandbox of a tenant, in any state. kExhausted (quota_sandboxes) at the deadline.
  Task<Grant> slot(TenantId tenant, Event::Deadline deadline);
  // The same without waiting.
  Result<Grant> slot_now(const TenantId& tenant);
  // The order among a tenant's own waiters. kBeforeNew: a sandbox that exists already goes before
  // new ones.
  enum class Order : std::uint8_t { kInTurn, kBeforeNew };
  // Waits for memory and CPU of a running sandbox, and room on the disk. Fails kExhausted
  // (quota_memory, quota_cpu, quota_storage) at the deadline, or at once if it never fits.
  Task<Grant> room(TenantId tenant, Limits limits, Order order, Event::Deadline deadline);
  // A place among those that boot at the same time. kDeadlineExceeded (boot_timeout).
  Task<Grant> place(Event::Deadline deadline);

  // Why there is no such room now; none: it is there, or others that wait come first.
  std::optional<Error> obstacle(const Limits& limits) const;

  // Returns `why` with the sums of all tenants, which an operator may read and a tenant may not.
  Error for_operator(Error why) const;

  // For what exists already (a restart): taken whether or not it fits.
  Grant slot_of_existing(const TenantId& tenant);
  Grant room_of_existing(const TenantId& tenant, Limits limits);

  // The number of waiters for a tenant's slot, for room on the host, and for a place to boot.
  struct Waiting {
    std::size_t for_slot = 0, for_room = 0, for_place = 0;
  };
  Waiting waiting() const;

  std::uint64_t memory_limit() const;  // 0: unknown
  std::uint64_t cpu_limit() const;     // millicores; 0: unknown
  std::uint32_t sandboxes_limit() const;

 private:
  struct State;
  struct Waiter;
  static Grant take_slot(const std::shared_ptr<State>& state, const TenantId& tenant);
  static Grant take_room(const std::shared_ptr<State>& state, const TenantId& tenant,
                         const Limits& limits);
  static Grant take_place(const std::shared_ptr<State>& state);
  static Task<Grant> wait(std::shared_ptr<State> state, std::shared_ptr<Waiter> waiter,
                          Event::Deadline deadline);
  static void pump(State& state);
  std::shared_ptr<State> state_;
};

}  // namespace cay::core
