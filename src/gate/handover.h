// Handover: which connections are the broker's: those to hosts that a sandbox has a proxy rule for, and those to the broker's own
// address inside. The broker says which, and so does what the daemon wrote (wire/routes_file.h), which is there without a broker: what either says counts.
// The gate holds no secret, and reads no further than the name.
#pragma once
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "async/task.h"
#include "base/unique_fd.h"
#include "gate/keeper_dialer.h"
#include "model/proxy.h"
#include "wire/vault.h"

namespace cay::gate {

class Handover {
 public:
  Handover(asio::any_io_executor loop, const KeeperDialer& dialer) : loop_(std::move(loop)), dialer_(dialer) {}

  // Learns from the broker until it is cancelled. While there is none, what the last one said counts: such a connection then
  // fails, and does not go past it.
  asio::awaitable<void> run();

  // What the daemon wrote of a sandbox; without hosts, fences and base_url: nothing.
  void written(const wire::BrokerRoutes& routes) { put(written_, routes); }

  // Of a sandbox whose routes were told.
  std::function<void(const std::string& sandbox_id)> on_change;

  bool base_url(const std::string& sandbox_id) const;
  // Whether any of its rules is for a host at that port.
  bool any_at(const std::string& sandbox_id, std::uint16_t port) const;
  bool takes(const std::string& sandbox_id, std::string_view host, std::uint16_t port) const;
  bool resolves(const std::string& sandbox_id, std::string_view host) const;
  // Whether any rule, or fence, is for that name, at whatever port.
  bool knows(const std::string& sandbox_id, std::string_view host) const;
  bool any_fence(const std::string& sandbox_id) const;
  bool any_fence_at(const std::string& sandbox_id, std::uint16_t port) const;
  // Whether a fence alone is for it: then it is the broker's where the policy lets it through.
  bool fences(const std::string& sandbox_id, std::string_view host, std::uint16_t port) const;
  // Whether one is for this name at that port, or the port is plain HTTP's: it is not to be reached past its fence.
  bool fenced_off(const std::string& sandbox_id, std::string_view host, std::uint16_t port) const;

  // A connection to the broker, for one that is handed over.
  Result<UniqueFd> dial() const { return dialer_.dial(kBrokerWord); }

 private:
  struct Routes {
    bool base_url = false;
    std::vector<ProxyHost> hosts, fences;
  };
  using All = std::map<std::string, Routes>;
  Task<void> learn(UniqueFd fd);
  static void put(All& into, const wire::BrokerRoutes& told);
  void changed(const std::string& sandbox_id) const;
  bool any(const std::string& sandbox_id, const std::function<bool(const Routes&)>& is) const;

  asio::any_io_executor loop_;
  const KeeperDialer& dialer_;
  All all_, written_;
};

}  // namespace cay::gate
