// HostCpus: the CPUs that the launcher may run on and the kernel's description of them, read once
// when the launcher starts. A sandbox with a smaller CPU limit is shown the first few of them.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace cay::launcher {

struct HostCpus {
  std::vector<unsigned> allowed;  // ids in ascending order: what cpusets leave to us
  std::size_t online = 0;         // of the whole host
  std::string cpuinfo;            // /proc/cpuinfo
  std::string possible;           // /sys/devices/system/cpu/possible; empty: not there

  static Result<HostCpus> read();
};

// GuestCpus: the CPUs that a sandbox is shown.
struct GuestCpus {
  std::vector<unsigned> ids;
  std::string list;  // as /sys/devices/system/cpu/online has it; empty: all that are online, by the
                     // kernel's files
  std::string cpuinfo;   // empty: the kernel's file
  std::string possible;  // as the host has it
};

// A limit that is no whole number is rounded up: a program with one thread fewer would waste the
// rest.
GuestCpus guest_cpus(const HostCpus& host, std::uint32_t millicores);

// Ids as the kernel writes lists of them: "0-3,5".
std::string cpu_list(const std::vector<unsigned>& ids);

// The paragraphs of a /proc/cpuinfo that describe `ids`. Empty where the file has no paragraph for
// each CPU (s390).
std::string cpuinfo_of(std::string_view cpuinfo, const std::vector<unsigned>& ids);

}  // namespace cay::launcher
