// Snapshots and volumes.
#include <algorithm>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <utility>

#include "client/api.h"
#include "client/async_state.h"

namespace cay::sdk {

namespace api = cay::client;

namespace {

using State = std::shared_ptr<AsyncState>;
using SteadyClock = std::chrono::steady_clock;
constexpr auto kFirstLook = std::chrono::milliseconds(10);
constexpr auto kSeldomLook = std::chrono::milliseconds(250);

// Calls `get` until `done` of what it returned. A daemon that restarts is waited for.
template <class T, class Get, class Done>
Awaitable<T> poll(State state, Get get, Done done) {
  const auto patience = std::chrono::duration_cast<SteadyClock::duration>(
      std::chrono::duration<double>(state->connection.options().reconnect_for_s));
  auto give_up = SteadyClock::now() + patience;
  SteadyClock::duration pause = kFirstLook;
  for (;;) {
    Result<T> now = co_await get();
    if (now && done(*now)) co_return *std::move(now);
    if (now) {
      give_up = SteadyClock::now() + patience;
    } else if (now.error().code != Code::kUnavailable || SteadyClock::now() >= give_up) {
      api::raise(std::move(now).error());
    }
    asio::steady_timer timer(state->connection.executor(), pause);
    co_await timer.async_wait(asio::use_awaitable);
    pause = std::min<SteadyClock::duration>(pause * 2, kSeldomLook);
  }
}

Awaitable<Snapshot> wait_until_ready(State state, std::string id, SnapshotProgress progress) {
  const auto get = [state, id] { return api::snapshot(state->connection, id); };
  const auto done = [progress](const Snapshot& now) {
    const bool building = now.status == "building";
    if (building && progress) progress(now);
    return !building;
  };
  Snapshot got = co_await poll<Snapshot>(state, get, done);
  if (got.status == "ready") co_return got;
  throw api::not_ready(got);
}

Awaitable<PushState> push_until_done(State state, std::string ref, PushOptions options,
                                     PushProgress progress) {
  auto begun = co_await api::push(state->connection, ref, options);
  if (!begun) api::raise(std::move(begun).error());
  const auto get = [state, ref] { return api::push_state(state->connection, ref); };
  const auto done = [progress](const PushState& now) {
    const bool pushing = now.state == "pushing";
    if (pushing && progress) progress(now);
    return !pushing;
  };
  PushState got = co_await poll<PushState>(state, get, done);
  if (got.state == "pushed") co_return got;
  throw api::not_pushed(options.image, got);
}

}  // namespace

AsyncSnapshotStore AsyncClient::snapshot_store() const { return AsyncSnapshotStore(state_); }

Awaitable<std::vector<Snapshot>> AsyncSnapshotStore::list() const {
  return unwrap(state_, api::snapshots(state_->connection));
}
Awaitable<Snapshot> AsyncSnapshotStore::get(std::string ref) const {
  return unwrap(state_, api::snapshot(state_->connection, std::move(ref)));
}
Awaitable<Snapshot> AsyncSnapshotStore::pull(PullOptions options) const {
  return unwrap(state_, api::pull(state_->connection, std::move(options)));
}
Awaitable<Snapshot> AsyncSnapshotStore::wait(std::string id, SnapshotProgress progress) const {
  return wait_until_ready(state_, std::move(id), std::move(progress));
}
Awaitable<Snapshot> AsyncSnapshotStore::tag(std::string ref, std::string tag) const {
  return unwrap(state_, api::tag(state_->connection, std::move(ref), std::move(tag)));
}
Awaitable<PushState> AsyncSnapshotStore::push(std::string ref, PushOptions options,
                                              PushProgress progress) const {
  return push_until_done(state_, std::move(ref), std::move(options), std::move(progress));
}
Awaitable<void> AsyncSnapshotStore::remove(std::string ref) const {
  return unwrap(state_, api::remove_snapshot(state_->connection, std::move(ref)));
}

AsyncVolumeStore AsyncClient::volume_store() const { return AsyncVolumeStore(state_); }

Awaitable<std::vector<Volume>> AsyncVolumeStore::list() const {
  return unwrap(state_, api::volumes(state_->connection));
}
Awaitable<Volume> AsyncVolumeStore::get(std::string ref) const {
  return unwrap(state_, api::volume(state_->connection, std::move(ref)));
}
Awaitable<Volume> AsyncVolumeStore::create(std::string name, std::uint64_t disk_bytes) const {
  return unwrap(state_, api::create_volume(state_->connection, std::move(name), disk_bytes));
}
Awaitable<Volume> AsyncVolumeStore::resize(std::string ref, std::uint64_t disk_bytes) const {
  return unwrap(state_, api::resize_volume(state_->connection, std::move(ref), disk_bytes));
}
Awaitable<void> AsyncVolumeStore::remove(std::string ref) const {
  return unwrap(state_, api::remove_volume(state_->connection, std::move(ref)));
}

}  // namespace cay::sdk
