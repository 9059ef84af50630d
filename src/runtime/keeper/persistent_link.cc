#include "runtime/keeper/persistent_link.h"

#include <algorithm>
#include <cerrno>
#include <utility>
#include <boost/asio/co_spawn.hpp>

namespace cay::runtime {
namespace {

constexpr Millis kFirstPause{5};
constexpr Millis kBrief{1000};  // a link this short-lived makes the next dial wait a little
constexpr Millis kPauseAfterBrief{50};
constexpr int kBreachesForgiven = 3;
constexpr Millis kBreachWindow{60'000};

}  // namespace

Error no_descriptors(int os_errno) {
  return {Code::kUnavailable, "no_descriptors",
          "the daemon has no file descriptor left: close connections, or raise its limit "
          "(LimitNOFILE, ulimit -n)",
          os_errno};
}

void PersistentLink::part() {
  parting_ = true;
  if (link_) link_->part();
}

std::shared_ptr<PersistentLink> PersistentLink::create(asio::any_io_executor loop, Config config) {
  return std::shared_ptr<PersistentLink>(new PersistentLink(std::move(loop), std::move(config)));
}

void PersistentLink::start() {
  auto self = shared_from_this();
  asio::co_spawn(loop_, run(), [self](std::exception_ptr failed) {
    if (!failed) return;
    self->end(Error{Code::kInternal, "link_failed",
                    "the connection to " + self->config_.peer + " failed by a bug", 0});
  });
}

asio::awaitable<void> PersistentLink::run() {
  auto self = shared_from_this();
  Millis pause = kFirstPause;
  while (!self->ended_) {
    auto got = co_await self->connect();
    if (self->ended_) {
      if (got) (*got)->close(self->why_);
      break;
    }
    if (got) {
      auto link = *std::move(got);
      const Deadline since = std::chrono::steady_clock::now();
      self->refusal_.reset();
      self->met_ = true;
      ++self->connections_;
      self->link_ = link;
      if (self->parting_) link->part();
      self->changed_.notify();
      co_await link->closed();
      self->link_.reset();
      const bool breach = link->broke_protocol();
      if (breach && self->config_.mortal && self->breaches_.add()) self->die(link->why().message);
      const bool brief = std::chrono::steady_clock::now() - since < kBrief;
      pause = brief ? std::min(pause * 2, kPauseAfterBrief) : kFirstPause;
      const Deadline retry = after(pause);
      if (brief && !self->ended_) {
        co_await wait_until(self->changed_, retry);
      }
      continue;
    }
    const Error& error = got.error();
    if (self->config_.mortal && error.code == Code::kNotFound) {
      self->die("keeper lost");
    } else if (error.code == Code::kUnsupported || error.code == Code::kConflict) {
      self->refusal_ = error;
      if (self->config_.mortal && self->met_) self->die(error.message);
      if (self->config_.mortal) self->end(error);
    } else if (error.os_errno == EMFILE || error.os_errno == ENFILE) {
      // Reported at once, and tried again: some descriptors may be closed.
      self->refusal_ = no_descriptors(error.os_errno);
    }
    self->changed_.notify();
    if (self->ended_) break;
    const Deadline again = after(pause);
    co_await wait_until(self->changed_, again);
    pause = std::min(pause * 2, self->config_.longest_pause);
  }
}

Task<std::shared_ptr<Link>> PersistentLink::connect() {
  auto self = shared_from_this();
  auto dialled = self->config_.dial();
  CAY_CO_TRY(auto socket, co_await std::move(dialled));
  auto link = Link::start(std::move(socket), self->config_.peer);
  link->on_event([weak = weak_from_this()](const wire::Frame& frame) {
    auto alive = weak.lock();
    if (alive) alive->events_.take(frame);
  });
  auto ours = self->config_.hello;
  auto key = self->config_.key;
  auto hello = co_await link->greet(std::move(ours), self->config_.greet_limit, std::move(key));
  if (!hello) {
    link->close(hello.error());
    co_return std::move(hello).error();
  }
  self->theirs_ = *std::move(hello);
  auto checked = self->config_.check ? self->config_.check(self->theirs_) : Result<void>{};
  if (!checked) {
    link->close(checked.error());
    co_return std::move(checked).error();
  }
  co_return link;
}

Task<std::shared_ptr<Link>> PersistentLink::link(Millis limit) {
  auto self = shared_from_this();
  const Deadline deadline = after(limit);
  while (true) {
    if (self->ended_) co_return self->why_;
    if (self->link_ && self->link_->alive()) co_return self->link_;
    if (self->refusal_) co_return *self->refusal_;
    if (passed(deadline)) co_return self->config_.unreachable;
    co_await wait_until(self->changed_, deadline);
  }
}

bool BreachCount::add() {
  const Deadline now = std::chrono::steady_clock::now();
  if (now - first_ > kBreachWindow) {
    first_ = now;
    count_ = 0;
  }
  return ++count_ >= kBreachesForgiven;
}

void PersistentLink::die(std::string reason) {
  if (ended_) return;
  end(expected_ ? *expected_
                : Error{Code::kLost, "keeper_lost", config_.peer + " is gone: " + reason, 0});
  if (on_death_) on_death_(std::move(reason));
}

void PersistentLink::close(Error why) { end(std::move(why)); }

void PersistentLink::end(Error why) {
  if (ended_) return;
  ended_ = true;
  why_ = std::move(why);
  if (link_) link_->close(why_);
  changed_.notify();
}

}  // namespace cay::runtime
