#include <utility>

#include "client/api.h"
#include "client/async_state.h"

namespace cay::sdk {

namespace api = cay::client;

namespace {

Awaitable<DiffSummary> read_diff(std::shared_ptr<const AsyncPlace> place, OnChange change) {
  auto source = co_await api::diff(place->client->connection, place->ref);
  if (!source) api::raise(std::move(source).error());
  api::DiffReader reader(change);
  for (;;) {
    auto piece = co_await (*source)->next();
    const std::string text = api::value_or_raise(std::move(piece));
    if (text.empty()) break;
    api::value_or_raise(reader.add(text));
  }
  co_return api::value_or_raise(reader.finish());
}

}  // namespace

AsyncSandbox::AsyncSandbox(std::shared_ptr<AsyncState> client, std::string ref)
    : AsyncSandbox(std::make_shared<const AsyncPlace>(std::move(client), std::move(ref))) {}

AsyncSandbox::AsyncSandbox(std::shared_ptr<const AsyncPlace> place)
    : AsyncSandboxCommands(place),
      AsyncSandboxFiles(place),
      AsyncSandboxFileChanges(place),
      place_(std::move(place)) {}

const std::string& AsyncSandbox::ref() const { return place_->ref; }
Awaitable<SandboxInfo> AsyncSandbox::info() const { return at_place(place_, api::get); }
Awaitable<SandboxInfo> AsyncSandbox::update(UpdateOptions options) const {
  return at_place(place_, api::update, std::move(options));
}
Awaitable<SandboxInfo> AsyncSandbox::start(double timeout_s) const {
  return at_place(place_, api::start, timeout_s);
}
Awaitable<SandboxInfo> AsyncSandbox::stop() const { return at_place(place_, api::stop); }
Awaitable<SandboxInfo> AsyncSandbox::pause() const { return at_place(place_, api::pause); }
Awaitable<SandboxInfo> AsyncSandbox::resume() const { return at_place(place_, api::resume); }
Awaitable<void> AsyncSandbox::remove() const { return at_place(place_, api::remove); }
Awaitable<Stats> AsyncSandbox::stats() const { return at_place(place_, api::stats); }
Awaitable<ProgramPage> AsyncSandbox::programs(std::uint64_t offset, std::uint32_t limit) const {
  return at_place(place_, api::programs, offset, limit);
}
Awaitable<NetworkReport> AsyncSandbox::network() const { return at_place(place_, api::network); }
Awaitable<Snapshot> AsyncSandbox::capture(std::string name) const {
  return at_place(place_, api::capture, std::move(name));
}
Awaitable<std::vector<SandboxInfo>> AsyncSandbox::fork(ForkOptions options) const {
  return at_place(place_, api::fork, std::move(options));
}
Awaitable<SandboxInfo> AsyncSandbox::rollback(std::string to) const {
  return at_place(place_, api::rollback, std::move(to));
}
Awaitable<DiffSummary> AsyncSandbox::diff(OnChange change) const {
  return read_diff(place_, std::move(change));
}

}  // namespace cay::sdk
