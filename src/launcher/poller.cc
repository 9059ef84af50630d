#include "launcher/poller.h"

#include <sys/epoll.h>

#include <utility>

#include "base/assert.h"

namespace cay::launcher {
namespace {
constexpr int kBatch = 64;
}

Poller::Poller() : epoll_(::epoll_create1(EPOLL_CLOEXEC)) { CAY_ASSERT(epoll_); }

void Poller::watch(int fd, std::uint32_t events, Callback callback) {
  const std::uint64_t tag = (std::uint64_t{++generation_} << 32) | static_cast<std::uint32_t>(fd);
  epoll_event event{};
  event.events = events;
  event.data.u64 = tag;
  CAY_ASSERT(::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) == 0);
  watches_[fd] = Watch{tag, std::make_shared<Callback>(std::move(callback))};
}

void Poller::change(int fd, std::uint32_t events) {
  const auto found = watches_.find(fd);
  if (found == watches_.end()) return;
  epoll_event event{};
  event.events = events;
  event.data.u64 = found->second.tag;
  CAY_ASSERT(::epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, fd, &event) == 0);
}

void Poller::forget(int fd) {
  if (watches_.erase(fd) > 0) ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr);
}

void Poller::run_once(int timeout_ms) {
  epoll_event events[kBatch];
  const int count = ::epoll_wait(epoll_.get(), events, kBatch, timeout_ms);
  for (int i = 0; i < count; ++i) {
    const auto found = watches_.find(static_cast<int>(events[i].data.u64 & 0xffffffffU));
    if (found == watches_.end() || found->second.tag != events[i].data.u64) continue;
    const auto callback = found->second.callback;  // keeps it alive while it runs
    (*callback)(events[i].events);
  }
}

}  // namespace cay::launcher
