#include "launcher/spare_ground.h"

#include <sys/epoll.h>

#include <algorithm>
#include <utility>

namespace cay::launcher {
namespace {

GroundKind kind_of(const wire::CreateSandbox& request) {
  GroundKind kind{request.memory_bytes, request.cpu_millicores, std::nullopt};
  if (has_way_out(request)) kind.networks = request.networks;
  return kind;
}

int milliseconds_until(SpareGround::Clock::time_point then, SpareGround::Clock::time_point now) {
  return static_cast<int>(std::chrono::ceil<std::chrono::milliseconds>(then - now).count());
}

}  // namespace

// A test's step that fails would fail in each groundwork, too.
bool SpareGround::enabled() const {
  return host_.config.ground_ahead && host_.config.fail_step.empty();
}

std::optional<Groundwork> SpareGround::take(const wire::CreateSandbox& request) {
  if (!enabled() || request.builds_layer) return std::nullopt;
  wanted_ = kind_of(request);
  lacks_ = true;
  quiet_from_ = Clock::now() + kQuiet;
  if (!spare_) return std::nullopt;
  const bool fits =
      spare_->kind == *wanted_ && (!request.network_required || !spare_->lacks_way_out);
  auto taken = std::exchange(spare_, std::nullopt);
  if (!fits) taken.reset();
  return taken;
}

void SpareGround::refill() {
  if (!enabled() || !lacks_ || making_ || !wanted_) return;
  lacks_ = false;  // what fails waits for the next create
  const GuestNetwork* network = nullptr;
  if (wanted_->networks) {
    auto plan = networks_.plan_for(*wanted_->networks);
    if (!plan) return;
    network = *plan;
  }
  auto slot = host_.slots.take();
  if (!slot) return;
  auto maker = GroundworkMaker::begin(host_, *wanted_, network, std::move(*slot));
  if (!maker) return;
  making_.emplace(std::move(*maker));
  watch();
}

void SpareGround::watch() {
  poller_.watch(making_->fd(), EPOLLIN, [this](std::uint32_t) { on_progress(); });
}

void SpareGround::on_progress() {
  poller_.forget(making_->fd());
  auto made = making_->advance();
  if (!made && made.error().code == Code::kNotReady) return watch();
  making_.reset();
  if (!made) return;  // a create makes its own, and reports why it cannot
  spare_.emplace(std::move(*made));
  unused_from_ = Clock::now() + kUnused;
}

bool SpareGround::drop() { return std::exchange(spare_, std::nullopt).has_value(); }

int SpareGround::tick() {
  const auto now = Clock::now();
  if (spare_ && unused_from_ <= now) drop();
  if (lacks_ && !making_ && quiet_from_ <= now) refill();
  std::optional<Clock::time_point> next;
  if (spare_) next = unused_from_;
  if (lacks_ && !making_) next = next ? std::min(*next, quiet_from_) : quiet_from_;
  return next ? std::max(0, milliseconds_until(*next, now)) : -1;
}

}  // namespace cay::launcher
