#include "launcher/probe.h"

#include <fcntl.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "keeper/filter_room.h"
#include "launcher/guest_clocks.h"
#include "launcher/guest_network.h"
#include "launcher/kernel_defects.h"
#include "launcher/probe_exposure.h"
#include "launcher/probe_snapshot.h"
#include "launcher/program_loader.h"
#include "os/btrfs.h"
#include "os/file.h"
#include "os/landlock.h"
#include "os/mount.h"
#include "os/process.h"

namespace cay::launcher {
namespace {

using Feature = wire::FeatureMsg;

std::string first_line(const std::string& path) {
  auto text = os::read_file(AT_FDCWD, path, 4096);
  return text ? text->substr(0, text->find('\n')) : std::string();
}

std::string gib(std::uint64_t bytes) {
  const std::uint64_t tenths = bytes * 10 >> 30;
  return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + " GiB";
}

Feature kernel() {
  utsname name{};
  ::uname(&name);
  char* rest = nullptr;
  const long major = std::strtol(name.release, &rest, 10);
  const long minor = *rest == '.' ? std::strtol(rest + 1, nullptr, 10) : 0;
  const bool ok = major > 6 || (major == 6 && minor >= 1);
  return {"kernel", ok, std::string(name.release) + " " + name.machine,
          ok ? "" : "older than 6.1: not tested", ok ? "" : "boot a kernel of 6.1 or newer"};
}

Feature kernel_defects() {
  utsname name{};
  ::uname(&name);
  const auto version =
      upstream_version(name.release, name.version, first_line("/proc/version_signature"));
  if (!version) {
    return {"kernel defects", true, "not known: the distribution numbers its kernels itself", "",
            "look into its security tracker"};
  }
  std::string all;
  for (const auto& one : known_defects(*version))
    all += (all.empty() ? "" : ", ") + std::string(one.id) + " (" + std::string(one.what) + ")";
  if (all.empty()) return {"kernel defects", true, "none known that code inside could use", "", ""};
  return {"kernel defects", false, all,
          "code inside could use them: the calls are ones that every program needs",
          "boot a kernel in which they are mended; a distribution may have done so under the same "
          "number (see its security tracker)"};
}

// The kernel's own report of missing protection against attacks by the processor's guessing
// (Documentation/admin-guide/hw-vuln).
Feature processor() {
  const std::string place = "/sys/devices/system/cpu/vulnerabilities";
  Feature feature{"processor", true, "guesses are guarded", "", ""};
  const UniqueFd dir(::open(place.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const auto names = dir ? os::list_dir(dir.get())
                         : Result<std::vector<std::string>>(Error::from_errno(errno, place));
  if (!names) {
    feature.found = "the kernel does not list what it guards";
    return feature;
  }
  std::vector<std::string> open, between_threads;
  for (const std::string& name : *names) {
    const std::string told = first_line(place + "/" + name);
    if (told.starts_with("Vulnerable")) open.push_back(name);
    if (!told.starts_with("Vulnerable") && told.find("SMT vulnerable") != std::string::npos)
      between_threads.push_back(name);
  }
  std::sort(open.begin(), open.end());
  std::sort(between_threads.begin(), between_threads.end());
  std::string all;
  for (const std::string& name : open) all += (all.empty() ? "" : ", ") + name;
  for (const std::string& name : between_threads)
    all += (all.empty() ? "" : ", ") + name + " (between the threads of a core)";
  if (!between_threads.empty()) {
    feature.ok = false;
    feature.found = "open to " + all;
    feature.remedy = "boot with mitigations=auto,nosmt";
  }
  if (!open.empty()) {
    feature.ok = false;
    feature.found = "open to " + all;
    feature.remedy =
        "update the processor's microcode (in a virtual machine: its host's), and boot without "
        "mitigations=off";
  }
  if (first_line("/sys/devices/system/cpu/smt/active") == "1")
    feature.found += "; two threads share a core";
  if (!feature.ok) feature.fallback = "a sandbox could read what others leave in the processor";
  return feature;
}

Feature cgroups(const Host& host) {
  return {"cgroups", true, host.groups.description(),
          host.groups.pure_v2() ? "" : "limits are written through v1", ""};
}

// A clone into new namespaces as an unprivileged keeper does it; true if it works.
bool try_namespaces(std::uint64_t flags) {
  auto child = os::clone_process(flags);
  if (!child) return false;
  if (child->pid == 0) ::_exit(0);
  return true;  // it is reaped with us: probes run in a child of their own
}

Feature user_namespaces() {
  const std::string most = first_line("/proc/sys/user/max_user_namespaces");
  const std::string debian = first_line("/proc/sys/kernel/unprivileged_userns_clone");
  const std::string apparmor = first_line("/proc/sys/kernel/apparmor_restrict_unprivileged_userns");
  Feature feature{"user namespaces", try_namespaces(CLONE_NEWUSER), "at most " + most, "", ""};
  if (debian == "0")
    feature.found +=
        "; not for unprivileged users (Cay makes them with a capability, and drops it)";
  if (apparmor == "1") feature.found += "; AppArmor restricts unprivileged ones";
  if (!feature.ok) {
    feature.fallback = "none: no sandbox can be made";
    feature.remedy = "sysctl -w user.max_user_namespaces=65536";
  } else if (debian == "0" || apparmor == "1") {
    // Those that a sandbox's users make are of the unprivileged.
    feature.fallback = "profile nested: no containers are made inside";
    feature.remedy = debian == "0" ? "sysctl -w kernel.unprivileged_userns_clone=1"
                                   : "sysctl -w kernel.apparmor_restrict_unprivileged_userns=0";
  }
  return feature;
}

Feature own_clocks(const Host& host) {
  if (host.own_clocks)
    return {"own clocks", true, "time namespaces: a sandbox's uptime is its own", "", ""};
  const bool known = ::access("/proc/self/timens_offsets", F_OK) == 0;
  return {"own clocks", false,
          known ? "no time namespaces: user.max_time_namespaces is 0"
                : "no time namespaces in this kernel",
          "sandboxes see how long the host has been up",
          known ? "sysctl -w user.max_time_namespaces=65536, then restart the launcher"
                : "boot a kernel with CONFIG_TIME_NS=y"};
}

// An idmapped mount of `dir`, as every layer and disk gets one.
Feature idmapped(const char* name, int dir) {
  int gate[2];
  if (::pipe(gate) != 0) return {name, false, "not tried", "", ""};
  auto child = os::clone_process(CLONE_NEWUSER);
  if (!child) return {name, false, "no user namespace to try with", "", ""};
  if (child->pid == 0) {
    char byte = 0;
    ::close(gate[1]);
    (void)!::read(gate[0], &byte, 1);
    ::_exit(0);
  }
  const std::string proc = "/proc/" + std::to_string(child->pid);
  const std::string map = "0 " + std::to_string(kRangeBase) + " 65536\n";
  Result<void> mapped = os::write_file(AT_FDCWD, proc + "/uid_map", map);
  if (mapped) mapped = os::write_file(AT_FDCWD, proc + "/gid_map", map);
  const UniqueFd userns(::open((proc + "/ns/user").c_str(), O_RDONLY | O_CLOEXEC));
  if (mapped) {
    auto mount = os::clone_mount(dir, ".");
    mapped = mount ? os::set_mount_attributes(mount->get(), 0, userns.get())
                   : Result<void>(std::move(mount).error());
  }
  ::close(gate[0]);
  ::close(gate[1]);
  if (mapped) return {name, true, "work", "", ""};
  return {name, false, mapped.error().message, "none: this file system cannot hold it",
          "put the data directory on ext4, btrfs or xfs (--data)"};
}

// A request for the file system loads its module, if it is one.
Feature overlay() {
  const UniqueFd context(::fsopen("overlay", FSOPEN_CLOEXEC));
  if (context) return {"overlay", true, "in the kernel", "", ""};
  return {"overlay", false, "missing", "none: no sandbox can be made", "modprobe overlay"};
}

Feature seccomp() {
  const std::uint32_t action = SECCOMP_RET_KILL_PROCESS;
  const bool ok = ::syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) == 0;
  return {"seccomp", ok, ok ? "filters" : "missing", ok ? "" : "none: no command can be started",
          ""};
}

// How much is left cannot be read, so it is tried, and no further than what is plenty.
Feature filter_room() {
  const std::string limit = first_line("/proc/sys/net/core/bpf_jit_limit");
  const auto taken = keeper::try_guest_filters(Profile::kNested, keeper::kMostTried);
  Feature feature{"room for filters", taken && *taken >= keeper::kMostTried, "", "", ""};
  feature.found = !taken ? taken.error().message
                         : (feature.ok ? "at least " : "") + std::to_string(*taken) +
                               " more, each sandbox and each command takes one";
  if (!limit.empty()) feature.found += "; net.core.bpf_jit_limit is " + limit;
  if (feature.ok) return feature;
  feature.fallback = "none: then no sandbox and no command starts (no_filter_room)";
  const std::uint64_t bytes = std::strtoull(limit.c_str(), nullptr, 10);
  feature.remedy = "sysctl -w net.core.bpf_jit_limit=" +
                   (bytes > 0 ? std::to_string(2 * bytes) : std::string("BYTES")) +
                   ", or end sandboxes of profile nested";
  return feature;
}

Feature landlock() {
  const int abi = os::landlock_abi();
  return {"landlock", abi > 0,
          abi > 0 ? "ABI " + std::to_string(abi) + ", for the gate" : "missing",
          abi > 0 ? "" : "the gate is bounded by its user and its filter of system calls alone",
          abi > 0 ? "" : "boot with lsm=landlock,... (Linux 5.13 or newer)"};
}

// Checks our own top group: one write kills a group.
Feature cgroup_kill(const Host& host) {
  const bool ok = host.groups.can_kill();
  return {"cgroup.kill", ok, ok ? "kills whole trees at once" : "missing",
          ok ? "" : "none: no sandbox can be ended for sure",
          ok ? "" : "boot a kernel of 5.14 or newer"};
}

Feature disk_quota(const Host& host) {
  const bool ok = !host.disks.enforced_by().empty();
  Feature feature{"disk quota", ok,
                  ok ? "btrfs pool, a qgroup for each sandbox" : host.disks.why_plain(), "", ""};
  if (ok) {
    const std::string mode = os::btrfs_quota_mode(host.disks.store());
    if (mode == "squota") feature.found += ", simple quota";
    if (mode == "qgroup")
      feature.fallback = "full qgroups, slower than the simple quota of Linux 6.7; ";
    feature.fallback += "df inside shows the whole pool: btrfs does not report the limit there";
  } else {
    feature.fallback = "plain directories: disk limits are accepted and not enforced";
    feature.remedy =
        "apt-get install btrfs-progs && modprobe btrfs loop, then restart the launcher";
  }
  return feature;
}

Feature disk_space(const Host& host) {
  struct statvfs space{};
  if (::fstatvfs(host.data.get(), &space) != 0) return {"disk space", false, "unknown", "", ""};
  const std::uint64_t free = std::uint64_t{space.f_bavail} * space.f_frsize;
  const bool ok = free > (std::uint64_t{2} << 30);
  return {"disk space", ok, gib(free) + " free", ok ? "" : "sandboxes will soon fail to write",
          ok ? "" : "free some space"};
}

Feature slots(Host& host) {
  const std::uint32_t free = host.slots.count_free();
  return {"uid ranges", free > 0,
          std::to_string(free) + " of " + std::to_string(kSlotCount) + " free", "", ""};
}

Feature core_pattern() {
  const std::string pattern = first_line("/proc/sys/kernel/core_pattern");
  const bool piped = pattern.starts_with('|');
  // No limit keeps a core from a socket (Linux 6.16).
  const bool to_a_socket = pattern.starts_with('@');
  return {
      "core dumps", !to_a_socket,
      piped ? "piped to " + pattern.substr(1, pattern.find(' ') - 1) : "pattern " + pattern,
      piped ? "commands run with a core limit of 1, at which nothing is piped"
      : to_a_socket
          ? "what crashes in a sandbox is handed to the host's handler of cores, with its memory"
          : "",
      to_a_socket ? "sysctl kernel.core_pattern=core" : ""};
}

Feature swap(const Host& host) {
  const std::string swaps = os::read_file(AT_FDCWD, "/proc/swaps", 1 << 16).value_or("");
  const bool used = swaps.find('\n') + 1 < swaps.size();
  const bool counted = host.groups.limits_swap();
  Feature feature{"swap", counted || !used, used ? "in use by the host" : "none", "", ""};
  feature.found += counted ? "; counted by cgroups" : "; not counted by cgroups";
  if (used && counted) feature.fallback = "sandboxes get none";
  if (used && !counted) {
    feature.fallback = "sandboxes can swap beyond their memory limit";
    feature.remedy = "boot with swapaccount=1, or swapoff -a";
  }
  return feature;
}

// Loaded and attached for real, for as long as it takes to see that it works.
Feature program_record() {
  const auto part = load_program_part();
  if (part)
    return {"program record", true, "BPF tracepoints, with the kernel's type information", "", ""};
  return {"program record", false,
          part.error().message.substr(0, part.error().message.find(':')) + ": " +
              std::strerror(part.error().os_errno) + ")",
          "sandboxes with record_programs are refused",
          "boot a kernel with CONFIG_DEBUG_INFO_BTF=y and CONFIG_BPF_EVENTS=y"};
}

Feature out_of_memory(const Host& host) {
  const bool ok = host.oom.victims() >= 0;
  Feature feature{
      "out of memory", ok,
      (ok ? "each victim is named, by " : "victims are counted and not named: ") + host.oom.how(),
      "", ""};
  if (!ok) {
    feature.fallback =
        "a command that dies of SIGKILL after another of its processes ran out of memory is "
        "reported as out of memory";
    feature.remedy =
        "boot a kernel of 6.9 or newer, or Debian's newest, with CONFIG_DEBUG_INFO_BTF=y and "
        "CONFIG_BPF_EVENTS=y";
  }
  return feature;
}

// All of it for real, in namespaces that are gone at once.
Feature way_out() {
  Feature feature{
      "network", false, "",
      "sandboxes come up without a way out; one whose request names a policy is refused",
      "modprobe -a nf_tables nft_chain_nat nft_nat nft_reject_inet nft_ct nft_limit nf_conntrack"};
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return feature;
  const UniqueFd from_child(ends[0]);
  UniqueFd to_us(ends[1]);
  auto child = os::clone_process(CLONE_NEWUSER | CLONE_NEWNET);
  if (!child) {
    feature.found = child.error().message;
    return feature;
  }
  if (child->pid == 0) {
    std::string words = "-";
    const auto plan = plan_guest_network({});
    const auto loopback = set_up_loopback();
    if (plan && loopback) {
      const auto made = set_up_guest_network(*plan);
      words = made ? (made->size() > 2 ? "+6" : "+4") : made.error().message;
    }
    ::_exit(::write(to_us.get(), words.data(), words.size()) > 0 ? 0 : 1);
  }
  to_us.reset();
  char buffer[1024];
  const ssize_t got = ::read(from_child.get(), buffer, sizeof buffer);
  const std::string words(buffer, got > 0 ? static_cast<std::size_t>(got) : 0);
  if (!words.starts_with('+')) {
    feature.found = words;
    return feature;
  }
  return {"network", true,
          std::string("nf_tables redirects, IPv4") + (words == "+6" ? " and IPv6" : " alone"), "",
          ""};
}

}  // namespace

std::vector<Feature> probe(Host& host) {
  std::vector<Feature> features;
  features.push_back(kernel());
  features.push_back(kernel_defects());
  features.push_back(processor());
  features.push_back(cgroups(host));
  features.push_back(cgroup_kill(host));
  features.push_back(user_namespaces());
  features.push_back(own_clocks(host));
  features.push_back(overlay());
  features.push_back(idmapped("idmapped mounts (layers)", host.layers.get()));
  features.push_back(idmapped("idmapped mounts (disks)", host.disks.store()));
  features.push_back(seccomp());
  features.push_back(filter_room());
  features.push_back(landlock());
  features.push_back(disk_quota(host));
  features.push_back(disk_space(host));
  for (Feature& feature : probe_snapshot(host.layers.get())) features.push_back(std::move(feature));
  features.push_back(slots(host));
  for (Feature& feature :
       probe_exposure({host.config.data, host.config.daemon_uid, host.config.daemon_gid, ""}))
    features.push_back(std::move(feature));
  features.push_back(core_pattern());
  features.push_back(swap(host));
  features.push_back(program_record());
  features.push_back(out_of_memory(host));
  features.push_back(way_out());
  return features;
}

}  // namespace cay::launcher
