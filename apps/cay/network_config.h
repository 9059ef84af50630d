// NetworkConfig: the sections [network] and [mirrors] of the settings, and what follows from them
// for the gate and for sandboxes.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/ip_address.h"
#include "base/result.h"
#include "gate/settings.h"
#include "policy/catalogue.h"

namespace cay::app {

struct NetworkConfig {
  std::vector<std::string> policies = {
      "off", "packages", "open"};  // that sandboxes may have; presets and [policy.NAME] too
  // [policy.NAME]: of the operator's own, or in the place of a preset, or added to one.
  struct Own {
    std::string about, otherwise, order;
    std::vector<std::string> rules, add;
  };
  std::map<std::string, Own> own;
  std::vector<std::string> hosts;         // reached by `packages` beside its own
  std::vector<std::string> networks;      // private and other special ranges that may be reached
  std::uint64_t socket_memory_bytes = 0;  // 0: as usual (gate/socket_memory.h)
  std::uint64_t socket_memory_total_bytes = 0;
  std::uint64_t sandbox_sent_bytes = 0,
                sandbox_received_bytes = 0;  // that one sandbox may move in all; 0: without end
  std::string upstream_proxy;         // an address, "environment", or nothing: upstream_proxy.h
  std::vector<std::string> no_proxy;  // beside those of the environment
  gate::ProxySettings proxy;          // settled from both
  bool host_authorities = false;      // the host's own certificate authorities are trusted inside
  bool import_mirrors = true;         // what [mirrors] leaves out is the host's own
  std::string pip, npm, apt, cargo, go;  // mirrors: URLs without user and password
};

// Checks the settings, and fills in the host's own mirrors where they request it. The mirrors are
// pip's index, npm's registry and apt's archives, as every user of the host may read them, without
// credentials. Fails kInvalidArgument (bad_config).
Result<NetworkConfig> settle_network(NetworkConfig config);

// All policies that have names, with the operator's hosts and mirrors in them. kInvalidArgument:
// bad_config.
Result<policy::Catalogue> policies_of(const NetworkConfig& config);

// Returns true for an http or https URL without a user, a password or a query.
bool is_plain_url(std::string_view text);
// Returns the value of the last line "key = value", or "".
std::string setting_in(std::string_view text, std::string_view key);
// Returns the archives that sandboxes' apt uses (launcher/default_snapshot_apt.h), one URL each.
std::vector<std::string> apt_archives();
// Returns false for addresses that `networks` refuses: loopback, and what is Cay's own inside.
bool may_be_opened(const IpAddress& address);

gate::Settings gate_settings(const NetworkConfig& config, const std::string& data);

}  // namespace cay::app
