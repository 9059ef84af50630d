#include "network_config.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string_view>

#include "base/ip_address.h"
#include "gate/policy.h"
#include "launcher/default_snapshot_apt.h"
#include "os/file.h"
#include "upstream_proxy.h"
#include "wire/guest_network.h"

namespace cay::app {
namespace {

constexpr std::size_t kMostNetworks = 64;

Error bad(const std::string& what) { return Error{Code::kInvalidArgument, "bad_config", what, 0}; }

bool is_plain_url(std::string_view text) {
  if (!text.starts_with("https://") && !text.starts_with("http://")) return false;
  return std::ranges::all_of(text, [](char c) { return c > ' ' && c < 0x7f && c != '@' && c != '"' && c != '\\' && c != '?'; });
}

// Only what every user of the host may read: a file of its own users is theirs.
std::string public_text(const std::string& path) {
  struct stat info{};
  if (::stat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode) || (info.st_mode & S_IROTH) == 0) return "";
  return os::read_file(AT_FDCWD, path).value_or("");
}

// The value of the last line "key = value".
std::string value_in(std::string_view text, std::string_view key) {
  std::string found;
  while (!text.empty()) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    const auto trim = [](std::string_view part) {
      while (!part.empty() && (part.front() == ' ' || part.front() == '\t')) part.remove_prefix(1);
      while (!part.empty() && (part.back() == ' ' || part.back() == '\t' || part.back() == '\r')) part.remove_suffix(1);
      return part;
    };
    const std::size_t equals = line.find('=');
    if (equals == std::string_view::npos || trim(line.substr(0, equals)) != key) continue;
    found = trim(line.substr(equals + 1));
  }
  return found;
}

// A mirror of the host's is taken where its address tells no secret.
std::string own_mirror(std::initializer_list<const char*> files, std::string_view key) {
  std::string found;
  for (const char* file : files) {
    const std::string value = value_in(public_text(file), key);
    if (is_plain_url(value)) found = value;
  }
  return found;
}

// The archives that sandboxes' apt asks (launcher/default_snapshot_apt.h), one URL each.
std::vector<std::string> apt_archives() {
  using launcher::AptFile;
  std::vector<AptFile> files = {{AptFile::Form::kLines, public_text("/etc/apt/sources.list")}};
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator("/etc/apt/sources.list.d", none)) {
    const std::string path = entry.path();
    if (path.ends_with(".sources")) files.push_back({AptFile::Form::kStanzas, public_text(path)});
    if (path.ends_with(".list")) files.push_back({AptFile::Form::kLines, public_text(path)});
  }
  const std::string sources = launcher::apt_sources(public_text("/etc/os-release"), files);
  std::vector<std::string> out;
  std::string_view rest = sources;
  while (!rest.empty()) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    if (line.starts_with("URIs: ")) out.emplace_back(line.substr(6));
  }
  return out;
}

struct Never {
  Network network;
  const char* what;
};

// What a sandbox could not mean, or would mean this host by. The gate dials from the host: there 0.0.0.0 and :: are its loopback, too.
std::vector<Never> never_opened() {
  constexpr const char* kLoopback = "loopback, which inside a sandbox is its own";
  constexpr const char* kNowhere = "which means this host itself";
  constexpr const char* kOwn = "each sandbox's own address";
  return {{*Network::parse("127.0.0.0/8"), kLoopback}, {*Network::parse("::1"), kLoopback},
          {*Network::parse("0.0.0.0/8"), kNowhere},    {*Network::parse("::"), kNowhere},
          {*Network::parse(wire::kGuestV4), kOwn},     {*Network::parse(wire::kGuestV6), kOwn},
          {*Network::parse(wire::kGuestResolver), "the sandboxes' name server, which is the gate"}};
}

}  // namespace

Result<NetworkConfig> settle_network(NetworkConfig config) {
  for (const std::string& name : config.policies) {
    if (name != "off" && name != "packages" && name != "open") return bad("network.policies: there are off, packages and open, and no '" + name + "'");
  }
  for (const std::string& host : config.hosts) { CAY_CHECK(gate::parse_rules(host)); }
  if (config.networks.size() > kMostNetworks) return bad("network.networks: more than 64");
  for (const std::string& text : config.networks) {
    const auto network = Network::parse(text);
    if (!network || network->prefix == 0) return bad("network.networks: '" + text + "' is no network, as 10.1.0.0/16");
    for (const auto& never : never_opened()) {
      if (network->overlaps(never.network)) {
        return bad("network.networks: '" + text + "' holds " + never.network.text() + ", " + never.what + ": list narrower networks, without it");
      }
    }
  }
  CAY_CHECK(set_upstream_proxy(config.proxy, config.upstream_proxy, config.no_proxy, [](const char* name) { return ::getenv(name); }));
  for (const auto* mirror : {&config.pip, &config.npm, &config.apt, &config.cargo, &config.go}) {
    if (!mirror->empty() && !is_plain_url(*mirror)) {
      return bad("mirrors: '" + *mirror + "' must be http:// or https:// and hold no user, password or query: every sandbox reads it");
    }
  }
  if (config.import_mirrors) {
    if (config.pip.empty()) config.pip = own_mirror({"/etc/pip.conf", "/etc/xdg/pip/pip.conf"}, "index-url");
    if (config.npm.empty()) config.npm = own_mirror({"/usr/etc/npmrc", "/etc/npmrc"}, "registry");
  }
  return config;
}

gate::Settings gate_settings(const NetworkConfig& config, const std::string& data) {
  gate::Settings out;
  out.data = data;
  out.hosts = config.hosts;
  out.networks = config.networks;
  out.policies = config.policies;
  out.socket_memory = config.socket_memory_bytes;
  out.socket_memory_total = config.socket_memory_total_bytes;
  out.proxy = config.proxy;
  for (const auto* mirror : {&config.pip, &config.npm, &config.apt, &config.cargo, &config.go}) {
    if (!mirror->empty()) out.hosts.push_back(*mirror);
  }
  for (std::string& archive : apt_archives()) out.hosts.push_back(std::move(archive));
  return out;
}

}  // namespace cay::app
