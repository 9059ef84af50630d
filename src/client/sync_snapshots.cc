#include <algorithm>
#include <chrono>
#include <exception>
#include <memory>
#include <thread>
#include <utility>

#include "client/api.h"
#include "client/produced.h"
#include "client/sync_state.h"

namespace cay::sdk {

namespace api = cay::client;

namespace {

using SteadyClock = std::chrono::steady_clock;
constexpr auto kFirstLook = std::chrono::milliseconds(10);
constexpr auto kSeldomLook = std::chrono::milliseconds(250);

// Calls `get` until `done` of what it returned. A daemon that restarts is waited for.
template <class Get, class Done>
auto poll(double patience_s, Get get, Done done) {
  const auto patience =
      std::chrono::duration_cast<SteadyClock::duration>(std::chrono::duration<double>(patience_s));
  auto give_up = SteadyClock::now() + patience;
  SteadyClock::duration pause = kFirstLook;
  for (;;) {
    try {
      auto now = get();
      if (done(now)) return now;
      give_up = SteadyClock::now() + patience;
    } catch (const ApiError& error) {
      if (error.code() != ErrorCode::kUnavailable || SteadyClock::now() >= give_up) throw;
    }
    std::this_thread::sleep_for(pause);
    pause = std::min<SteadyClock::duration>(pause * 2, kSeldomLook);
  }
}

}  // namespace

SnapshotStore Client::snapshot_store() const { return SnapshotStore(state_); }

std::vector<Snapshot> Client::snapshots() const { return snapshot_store().list(); }

std::vector<Snapshot> SnapshotStore::list() const {
  return state_->wait(api::snapshots(state_->connection));
}

Snapshot SnapshotStore::get(const std::string& ref) const {
  return state_->wait(api::snapshot(state_->connection, ref));
}

Snapshot SnapshotStore::pull(const PullOptions& options) const {
  return state_->wait(api::pull(state_->connection, options));
}

Snapshot SnapshotStore::import_archive(ByteProducer archive, const std::string& name) const {
  std::exception_ptr thrown;
  auto source = std::make_unique<api::Produced>(std::move(archive), thrown);
  auto got = state_->loop.wait(api::import_archive(state_->connection, name, std::move(source)));
  if (thrown) std::rethrow_exception(thrown);
  return api::value_or_raise(std::move(got));
}

Snapshot SnapshotStore::wait(const std::string& id, const SnapshotProgress& progress) const {
  const auto get = [&] { return this->get(id); };
  const auto done = [&](const Snapshot& now) {
    const bool building = now.status == "building";
    if (building && progress) progress(now);
    return !building;
  };
  Snapshot got = poll(state_->connection.options().reconnect_for_s, get, done);
  if (got.status == "ready") return got;
  throw api::not_ready(got);
}

Snapshot SnapshotStore::tag(const std::string& ref, const std::string& tag) const {
  return state_->wait(api::tag(state_->connection, ref, tag));
}

PushState SnapshotStore::push(const std::string& ref, const PushOptions& options,
                              const PushProgress& progress) const {
  const auto done = [&](const PushState& now) {
    const bool pushing = now.state == "pushing";
    if (pushing && progress) progress(now);
    return !pushing;
  };
  PushState got = state_->wait(api::push(state_->connection, ref, options));
  const auto get = [&] { return state_->wait(api::push_state(state_->connection, ref)); };
  if (!done(got)) got = poll(state_->connection.options().reconnect_for_s, get, done);
  if (got.state == "pushed") return got;
  throw api::not_pushed(options.image, got);
}

void SnapshotStore::remove(const std::string& ref) const {
  state_->wait(api::remove_snapshot(state_->connection, ref));
}

Snapshot Sandbox::capture(const std::string& name) const {
  return state_->client->wait(api::capture(state_->client->connection, state_->at(), name));
}

std::vector<SandboxInfo> Sandbox::fork(const ForkOptions& options) const {
  return state_->client->wait(api::fork(state_->client->connection, state_->at(), options));
}

SandboxInfo Sandbox::rollback(const std::string& to) const {
  return state_->client->wait(api::rollback(state_->client->connection, state_->at(), to));
}

}  // namespace cay::sdk
