// The servers that this host's package managers install from, and the check that sandboxes with the
// policy `packages` reach them. Nothing here opens anything: the operator gets the settings to
// write.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/ip_address.h"
#include "core/ports/runtime.h"
#include "network_config.h"
#include "policy/catalogue.h"

namespace cay::app {

// A server of one package manager.
struct PackageSource {
  std::string tool;  // as the section [mirrors] names it: pip, npm, apt, go
  std::string host;
  std::uint16_t port = 0;
  bool is_tls = false;
  std::string url;   // of the host's own setting, if sandboxes do not use that server
  std::string from;  // the file or variable with that setting
};

// This host's files and environment, as the daemon sees them at its start.
struct HostSettings {
  std::function<std::string(const std::string& path)> text;      // "" if it cannot be read
  std::function<std::string(const std::string& name)> variable;  // "" if it is not set
  std::vector<std::string> apt_archives;                         // that sandboxes use
};
HostSettings host_settings();

// Returns the servers of each tool. They are the operator's mirror, else the server of the host's
// own setting, else the hosts of the policy with the tool's name.
std::vector<PackageSource> package_sources(const NetworkConfig& config,
                                           const policy::Catalogue& policies,
                                           const HostSettings& host);

// Returns true if programs of this host trust authorities that the distribution does not ship.
bool has_own_authorities(const HostSettings& host);

// A source, and the addresses of its name. There are none if the name was not found.
struct FoundSource {
  PackageSource source;
  std::vector<IpAddress> addresses;
};

struct PackageFacts {
  const NetworkConfig& config;
  const policy::Catalogue& policies;
  std::function<bool(const IpAddress&)> is_own_address;  // of this host
  bool own_authorities = false;
};

// Returns the line `packages` of `cay doctor`. Its remedy has the lines of the daemon's settings
// that open what sandboxes cannot reach.
core::Feature packages_feature(const std::vector<FoundSource>& found, const PackageFacts& facts);

}  // namespace cay::app
