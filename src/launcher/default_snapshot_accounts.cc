#include "launcher/default_snapshot_accounts.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <set>
#include <vector>

namespace cay::launcher {
namespace {

constexpr unsigned kFirstPerson = 1000;  // login.defs UID_MIN of every distribution we know
constexpr std::string_view kUser = "user";

// The accounts that distributions ship, for a host without a list of its own.
constexpr std::string_view kBasePasswd =
    "root:*:0:0:root:/root:/bin/bash\n"
    "daemon:*:1:1:daemon:/usr/sbin:/usr/sbin/nologin\n"
    "nobody:*:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n";
constexpr std::string_view kBaseGroup =
    "root:*:0:\ndaemon:*:1:\ntty:*:5:\nsudo:*:27:\nshadow:*:42:\nutmp:*:43:\nstaff:*:50:\nusers:*:"
    "100:\nnogroup:*:65534:\n";

// Accounts that packages make for themselves. The package database lists these packages as
// installed, so their maintainer scripts expect the accounts. An account that is not here may be an
// admin's.
constexpr std::string_view kOfPackages[] = {
    "_apt",
    "_chrony",
    "_dnsmasq",
    "_rpc",
    "_ssh",
    "avahi",
    "crontab",
    "dnsmasq",
    "fwupd-refresh",
    "geoclue",
    "git",
    "haproxy",
    "input",
    "kvm",
    "man",
    "memcache",
    "messagebus",
    "mosquitto",
    "mysql",
    "netdev",
    "nginx",
    "ntp",
    "ntpsec",
    "plocate",
    "polkitd",
    "postfix",
    "postdrop",
    "postgres",
    "pulse",
    "rabbitmq",
    "rdma",
    "redis",
    "render",
    "rtkit",
    "sasl",
    "sgx",
    "ssh",
    "sshd",
    "ssl-cert",
    "statd",
    "syslog",
    "systemd-coredump",
    "systemd-journal",
    "systemd-network",
    "systemd-oom",
    "systemd-resolve",
    "systemd-timesync",
    "tcpdump",
    "tss",
    "usbmux",
    "uuidd",
};

std::vector<std::string_view> split(std::string_view text, char at) {
  std::vector<std::string_view> parts;
  while (true) {
    std::size_t end = text.find(at);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

// Calls `use` for each line of `base`, then for those lines of `host` that belong to packages.
template <class Use>
void each_account(std::string_view base, std::string_view host, std::size_t fields, Use use) {
  std::set<std::string_view> names;
  for (std::string_view list : {base, host}) {
    for (std::string_view line : split(list, '\n')) {
      auto parts = split(line, ':');
      if (parts.size() != fields || parts[0] == kUser) continue;
      unsigned id = 0;
      auto [end, error] = std::from_chars(parts[2].data(), parts[2].data() + parts[2].size(), id);
      if (error != std::errc() || end != parts[2].data() + parts[2].size()) continue;
      const bool of_package = std::ranges::find(kOfPackages, parts[0]) != std::end(kOfPackages);
      if (list.data() == host.data() && (!of_package || id >= kFirstPerson)) continue;
      if (names.insert(parts[0]).second) use(parts);
    }
  }
}

}  // namespace

Accounts make_accounts(std::string_view base_passwd, std::string_view base_group,
                       std::string_view host_passwd, std::string_view host_group) {
  Accounts made;
  const auto field = [](std::string_view text) { return std::string(text) + ":"; };
  each_account(
      base_passwd.empty() ? kBasePasswd : base_passwd, host_passwd, 7, [&](const auto& of) {
        // The comment field may name people.
        made.passwd += field(of[0]) + "x:" + field(of[2]) + field(of[3]) + field(of[0]) +
                       field(of[5]) + std::string(of[6]) + "\n";
        made.shadow += field(of[0]) + "*:19700:0:99999:7:::\n";  // locked; without a day of last
                                                                 // change su would want a new one
      });
  each_account(base_group.empty() ? kBaseGroup : base_group, host_group, 4, [&](const auto& of) {
    const std::string_view members = of[0] == "sudo" ? kUser : "";
    made.group += field(of[0]) + "x:" + field(of[2]) + std::string(members) + "\n";
    made.gshadow += field(of[0]) + "*::" + std::string(members) + "\n";
  });
  made.passwd += "user:x:1000:1000:user:/home/user:/bin/bash\n";
  made.shadow += "user:*:19700:0:99999:7:::\n";
  made.group += "user:x:1000:\n";
  made.gshadow += "user:*::\n";
  return made;
}

}  // namespace cay::launcher
