#include "vault/gate_notices.h"

#include <algorithm>
#include <utility>

#include "vault/routes_file.h"

namespace cay::vault {

Result<bool> GateNotices::write(const wire::BrokerRoutes& routes) {
  return write_routes(data_, routes);
}

Result<void> GateNotices::write_all(std::vector<wire::BrokerRoutes> routes) {
  for (const std::string& id : routes_written(data_)) {
    if (std::ranges::find(routes, id, &wire::BrokerRoutes::sandbox_id) != routes.end()) continue;
    routes.emplace_back().sandbox_id = id;
  }
  Result<void> done;
  for (const wire::BrokerRoutes& one : routes) {
    auto written = write_routes(data_, one);
    if (written && (*written || !wrote_all_)) pending_[one.sandbox_id] = ++writes_;
    if (!written) done = std::move(written).error();
  }
  wrote_all_ = true;
  return done;
}

asio::awaitable<void> GateNotices::send(std::string sandbox_id) {
  if (!notify_) co_return;
  const std::uint64_t write = ++writes_;
  pending_[sandbox_id] = write;
  auto notifying = notify_(SandboxId(sandbox_id));
  const auto notified = co_await std::move(notifying);
  const auto it = pending_.find(sandbox_id);
  if (notified && it != pending_.end() && it->second == write) pending_.erase(it);
}

asio::awaitable<void> GateNotices::send_pending() {
  const auto pending = pending_;
  for (const auto& [id, write] : pending) {
    co_await send(id);
  }
}

}  // namespace cay::vault
