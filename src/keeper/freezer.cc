#include "keeper/freezer.h"

#include <sys/epoll.h>

#include <utility>

namespace cay::keeper {
namespace {

// A process in an uninterruptible wait of the kernel freezes when that is over.
constexpr std::int64_t kLimitMs = 5000;

}  // namespace

void Freezer::freeze(Done done) {
  done_ = std::move(done);
  if (!slots_.can_freeze()) {
    return finish(Error{Code::kUnsupported, "pause_unsupported",
                        "this sandbox cannot be paused: it runs without cgroups", 0});
  }
  for (Slot* slot : slots_.of_commands()) {
    const auto frozen = slot->freeze(true);
    if (!frozen) {
      thaw_all();
      return finish(frozen.error());
    }
    Awaited one{slot, slot->open_events(), {}};
    one.watch = loop_.watch(one.events.get(), EPOLLPRI, [this](std::uint32_t) { check(); });
    awaited_.push_back(std::move(one));
  }
  deadline_ = loop_.after(kLimitMs, [this] {
    thaw_all();
    finish(Error{Code::kDeadlineExceeded, "pause_timeout",
                 "a process in the sandbox waits in the kernel and could not be held still in 5 s: "
                 "it runs on; try again",
                 0});
  });
  loop_.defer([this] { check(); });
}

void Freezer::check() {
  if (!done_) return;
  std::erase_if(awaited_, [](const Awaited& one) { return one.slot->frozen(); });
  if (awaited_.empty()) finish({});
}

void Freezer::thaw() {
  thaw_all();
  if (done_)
    finish(
        Error{Code::kCancelled, "resumed", "the sandbox was resumed while it was being paused", 0});
}

void Freezer::thaw_all() {
  for (Slot* slot : slots_.of_commands()) [[maybe_unused]]
    const auto thawed = slot->freeze(false);
}

void Freezer::finish(Result<void> result) {
  deadline_.reset();
  // From a callback of a watch of its own: freed when that is over.
  auto watches = std::make_shared<std::vector<Awaited>>(std::exchange(awaited_, {}));
  loop_.defer([watches] {});
  auto done = std::exchange(done_, nullptr);
  if (done) done(std::move(result));
}

}  // namespace cay::keeper
