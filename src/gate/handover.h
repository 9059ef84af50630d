// Handover decides which connections the gate gives to the broker. These are connections to hosts
// of a sandbox's proxy rules, and to the broker's own address inside. The broker and the daemon
// (wire/routes_file.h) each send a list, and a host on either list counts. The daemon's list is
// there without a broker. The gate holds no secret, and reads no further than the name.
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
  Handover(asio::any_io_executor loop, const KeeperDialer& dialer)
      : loop_(std::move(loop)), dialer_(dialer) {}

  // Learns from the broker until it is cancelled. While there is none, its last list counts: a
  // connection to such a host fails rather than go past the broker.
  asio::awaitable<void> run();

  // Takes the daemon's list for a sandbox. An empty one removes it.
  void written(const wire::BrokerRoutes& routes) { put(written_, routes); }

  // Called when a sandbox's list changed.
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
  // Whether one is for this name at that port, or the port is plain HTTP's: it is not to be reached
  // past its fence.
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
