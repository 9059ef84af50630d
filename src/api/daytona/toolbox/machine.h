// Reads what a sandbox's kernel and programs report about its machine.
#pragma once
#include <cstdint>
#include <optional>
#include <set>
#include <string_view>

namespace cay::api::daytona {

// The ports on which something listens. `text`: of /proc/net/tcp and /proc/net/tcp6, one behind the
// other. Cay's own listeners, which are on 192.0.0.0/24, are left out.
std::set<std::uint16_t> listening_ports(std::string_view text);

struct DiskSpace {
  std::uint64_t total = 0, used = 0, free = 0;  // bytes
};
// `text`: of `df -Pk PATH`.
std::optional<DiskSpace> disk_space(std::string_view text);

// A value of /proc/meminfo, in bytes.
std::optional<std::uint64_t> memory_value(std::string_view meminfo, std::string_view name);

}  // namespace cay::api::daytona
