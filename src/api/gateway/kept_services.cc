#include "api/gateway/kept_services.h"

#include <algorithm>
#include <utility>

#include "async/deadline.h"
#include "async/piped.h"
#include "core/ports/tunnel.h"

namespace cay::api {

KeptServices::KeptServices(asio::any_io_executor loop) : loop_(loop), parting_(std::move(loop)) {}

std::unique_ptr<core::Tunnel> KeptServices::take(const LinkId& link, const ServicePlace& place) {
  const Name service = name_of(place);
  // The youngest first: the others come of age.
  for (std::size_t i = kept_.size(); i-- > 0;) {
    if (kept_[i].link != link || kept_[i].service != service) continue;
    auto tunnel = std::move(kept_[i].tunnel);
    kept_.erase(kept_.begin() + static_cast<std::ptrdiff_t>(i));
    auto* piped = dynamic_cast<PipedStream*>(tunnel.get());
    if (piped != nullptr && piped->is_quiet()) return tunnel;
  }
  return nullptr;
}

void KeptServices::keep(const LinkId& link, const ServicePlace& place,
                        std::unique_ptr<core::Tunnel> tunnel) {
  Name service = name_of(place);
  auto* piped = dynamic_cast<PipedStream*>(tunnel.get());
  if (piped == nullptr || !piped->is_quiet()) return;
  const auto same = std::count_if(kept_.begin(), kept_.end(),
                                  [&](const Kept& one) { return one.service == service; });
  if (ended_ || kept_.size() >= kMost || static_cast<std::size_t>(same) >= kMostOfOne ||
      waiting_->contains(service)) {
    let_go(std::move(tunnel));
    return;
  }
  kept_.push_back({link, std::move(service), std::move(tunnel), Clock::now() + kIdle});
  if (!std::exchange(sweeping_, true)) parting_.spawn(sweep());
}

std::shared_ptr<void> KeptServices::make_way(const ServicePlace& place) {
  const Name service = name_of(place);
  for (std::size_t i = kept_.size(); i-- > 0;) {
    if (kept_[i].service != service) continue;
    let_go(std::move(kept_[i].tunnel));
    kept_.erase(kept_.begin() + static_cast<std::ptrdiff_t>(i));
  }
  ++(*waiting_)[service];
  return std::shared_ptr<void>(nullptr, [all = waiting_, service](void*) {
    if (--(*all)[service] == 0) all->erase(service);
  });
}

void KeptServices::end() {
  ended_ = true;
  kept_.clear();
  parting_.cancel();
}

// An end, not a reset: nothing went wrong.
void KeptServices::let_go(std::unique_ptr<core::Tunnel> tunnel) {
  if (!ended_) parting_.spawn(part(std::move(tunnel)));
}

asio::awaitable<void> KeptServices::part(std::unique_ptr<core::Tunnel> tunnel) {
  auto shut = co_await tunnel->shut_write();
  if (!shut) co_return;
  auto reading = tunnel->read();
  auto last =
      co_await with_deadline<Bytes>(std::move(reading), kIdle, "the end of a service's connection");
  static_cast<void>(last);
}

asio::awaitable<void> KeptServices::sweep() {
  while (!kept_.empty()) {
    const auto left = std::chrono::duration_cast<Millis>(kept_.front().until - Clock::now());
    if (left.count() > 0) {
      co_await sleep_for(left);
      continue;
    }
    auto tunnel = std::move(kept_.front().tunnel);
    kept_.pop_front();
    let_go(std::move(tunnel));
  }
  sweeping_ = false;
}

}  // namespace cay::api
