#include "launcher/host_cpus.h"

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>

#include "os/file.h"

namespace cay::launcher {
namespace {

constexpr std::size_t kMostCpus = 8192;                   // the kernel's own bound
constexpr std::size_t kMostText = std::size_t{64} << 20;  // about 2 KiB for each CPU

using Mask = cpu_set_t[kMostCpus / CPU_SETSIZE];

// CPUs that cpusets allow. An affinity that somebody gave the launcher does not count: commands
// reset theirs.
Result<std::vector<unsigned>> allowed_cpus() {
  Mask own{}, all;
  std::memset(all, 0xff, sizeof all);
  Mask allowed{};
  const bool asked =
      ::sched_getaffinity(0, sizeof own, own) == 0 && ::sched_setaffinity(0, sizeof all, all) == 0;
  if (!asked || ::sched_getaffinity(0, sizeof allowed, allowed) != 0 ||
      ::sched_setaffinity(0, sizeof own, own) != 0) {
    return Error::from_errno(errno, "find out which CPUs there are");
  }
  std::vector<unsigned> ids;
  for (unsigned id = 0; id < kMostCpus; ++id) {
    if (CPU_ISSET_S(id, sizeof allowed, allowed)) ids.push_back(id);
  }
  return ids;
}

// The id in the line "processor\t: 5" that begins a paragraph.
bool describes(std::string_view paragraph, const std::vector<unsigned>& ids) {
  const std::size_t colon = paragraph.find(':');
  if (!paragraph.starts_with("processor\t") || colon == std::string_view::npos) return false;
  std::string_view rest = paragraph.substr(colon + 1);
  while (rest.starts_with(' ')) rest.remove_prefix(1);
  unsigned id = 0;
  if (std::from_chars(rest.data(), rest.data() + rest.size(), id).ec != std::errc()) return false;
  return std::find(ids.begin(), ids.end(), id) != ids.end();
}

}  // namespace

Result<HostCpus> HostCpus::read() {
  HostCpus host;
  CAY_TRY(host.allowed, allowed_cpus());
  const long online = ::sysconf(_SC_NPROCESSORS_ONLN);
  host.online = online > 0 ? static_cast<std::size_t>(online) : host.allowed.size();
  CAY_TRY(host.cpuinfo, os::read_file(AT_FDCWD, "/proc/cpuinfo", kMostText));
  auto possible = os::read_file(AT_FDCWD, "/sys/devices/system/cpu/possible");
  if (possible) host.possible = std::move(*possible);
  return host;
}

GuestCpus guest_cpus(const HostCpus& host, std::uint32_t millicores) {
  GuestCpus out;
  const std::size_t whole = std::max<std::size_t>((std::size_t{millicores} + 999) / 1000, 1);
  const std::size_t count = std::min(whole, host.allowed.size());
  out.ids.assign(host.allowed.begin(), host.allowed.begin() + static_cast<std::ptrdiff_t>(count));
  if (count >= host.online) return out;
  out.list = cpu_list(out.ids);
  out.cpuinfo = cpuinfo_of(host.cpuinfo, out.ids);
  out.possible = host.possible;
  return out;
}

std::string cpu_list(const std::vector<unsigned>& ids) {
  std::string out;
  for (std::size_t i = 0; i < ids.size();) {
    std::size_t last = i;
    while (last + 1 < ids.size() && ids[last + 1] == ids[last] + 1) ++last;
    if (!out.empty()) out += ',';
    out += std::to_string(ids[i]);
    if (last > i) out += "-" + std::to_string(ids[last]);
    i = last + 1;
  }
  return out;
}

std::string cpuinfo_of(std::string_view cpuinfo, const std::vector<unsigned>& ids) {
  std::string out;
  while (!cpuinfo.empty()) {
    const std::size_t end = cpuinfo.find("\n\n");
    const std::size_t size = end == std::string_view::npos ? cpuinfo.size() : end + 2;
    if (describes(cpuinfo, ids)) out += cpuinfo.substr(0, size);
    cpuinfo.remove_prefix(size);
  }
  return out;
}

}  // namespace cay::launcher
