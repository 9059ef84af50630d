#include "network_config.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <string_view>
#include <utility>

#include "base/ip_address.h"
#include "launcher/default_snapshot_apt.h"
#include "os/file.h"
#include "upstream_proxy.h"
#include "wire/guest_network.h"

namespace cay::app {
namespace {

constexpr std::size_t kMostNetworks = 64;

Error bad(const std::string& what) { return Error{Code::kInvalidArgument, "bad_config", what, 0}; }

// Returns a refused URL for a message, without the parts that may be a secret.
std::string shown_url(std::string_view url) {
  const std::size_t scheme = url.find("://");
  const std::size_t path = url.find('/', scheme == std::string_view::npos ? 0 : scheme + 3);
  if (path != std::string_view::npos) url = url.substr(0, url.find_first_of("?#", path));
  const std::size_t at = url.rfind('@');
  const std::string begin =
      at == std::string_view::npos
          ? ""
          : (scheme < at ? std::string(url.substr(0, scheme + 3)) : "") + "…@";
  if (at != std::string_view::npos) url.remove_prefix(at + 1);
  return begin + std::string(url.substr(0, url.find_first_of("?#")));
}

// Only what every user of the host may read: a file of its own users is theirs.
std::string public_text(const std::string& path) {
  struct stat info{};
  if (::stat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode) || (info.st_mode & S_IROTH) == 0)
    return "";
  return os::read_file(AT_FDCWD, path).value_or("");
}

// Returns the host's own mirror, if its address contains no secret.
std::string own_mirror(std::initializer_list<const char*> files, std::string_view key) {
  std::string found;
  for (const char* file : files) {
    const std::string value = setting_in(public_text(file), key);
    if (is_plain_url(value)) found = value;
  }
  return found;
}

// Returns the rules of a host of [network] or [mirrors]. Without a port they are for those of the
// web.
Result<std::vector<policy::Rule>> host_rules(const std::string& text) {
  CAY_TRY(const policy::Rule rule, policy::parse_rule(text, policy::Words::kHosts));
  if (rule.action != policy::Action::kAllow || rule.kind == policy::Rule::Kind::kPolicy)
    return bad("'" + text.substr(0, 100) + "' is no host: rules are for [policy.NAME]");
  const bool whole =
      !rule.ports && (!rule.names_a_host() || (rule.kind == policy::Rule::Kind::kName &&
                                               rule.word.find('.') == std::string::npos));
  if (!whole) return std::vector<policy::Rule>{rule};
  std::vector<policy::Rule> out;
  for (const std::uint16_t port : {policy::kHttpsPort, policy::kHttpPort}) {
    out.push_back(rule);
    out.back().ports = policy::Ports{port, port};
  }
  return out;
}

// A URL without its path: of a mirror a rule takes the host.
std::string origin_of(const std::string& url) {
  const std::size_t host = url.find("://");
  return host == std::string::npos ? url : url.substr(0, url.find_first_of("/?#", host + 3));
}

// A policy of the operator's: `rules` make it, `add` is added to a preset.
Result<std::vector<policy::Definition>> definitions_of(const std::string& name,
                                                       const NetworkConfig::Own& own) {
  std::vector<std::string> lines;
  if (!own.otherwise.empty() && own.otherwise != "allow" && own.otherwise != "deny")
    return bad("default must be \"allow\" or \"deny\"");
  if (!own.order.empty() && own.order != "first-match" && own.order != "deny-wins")
    return bad("order must be \"first-match\" or \"deny-wins\"");
  if (!own.otherwise.empty()) lines.push_back("default " + own.otherwise);
  if (!own.order.empty()) lines.push_back(own.order);
  if (own.add.empty() == (own.rules.empty() && lines.empty()))
    return bad(
        "give either rules, or add, which adds to a preset; a policy that lets nothing through is "
        "there already: off");
  if (!own.add.empty() && (!lines.empty() || !own.rules.empty()))
    return bad("add stands alone: what it is added to has its own default and order");
  lines.insert(lines.end(), own.rules.begin(), own.rules.end());
  CAY_TRY(policy::RuleSet rules, policy::parse_rules(own.add.empty() ? lines : own.add));
  return std::vector<policy::Definition>{
      {.name = name, .about = own.about, .rules = std::move(rules), .adds = !own.add.empty()}};
}

std::string names_of(const policy::Catalogue& policies) {
  std::string out;
  for (const policy::NamedPolicy& one : policies.all()) out += (out.empty() ? "" : ", ") + one.name;
  return out;
}

struct Never {
  Network network;
  const char* what;
};

// Returns addresses that mean nothing to a sandbox or would mean this host. The gate dials from the
// host, where 0.0.0.0 and :: are loopback, too.
std::vector<Never> never_opened() {
  constexpr const char* kLoopback = "loopback, which inside a sandbox is its own";
  constexpr const char* kNowhere = "which means this host itself";
  constexpr const char* kOwn = "each sandbox's own address";
  return {{*Network::parse("127.0.0.0/8"), kLoopback},
          {*Network::parse("::1"), kLoopback},
          {*Network::parse("0.0.0.0/8"), kNowhere},
          {*Network::parse("::"), kNowhere},
          {*Network::parse(wire::kGuestV4), kOwn},
          {*Network::parse(wire::kGuestV6), kOwn},
          {*Network::parse(wire::kGuestResolver), "the sandboxes' name server, which is the gate"}};
}

}  // namespace

bool is_plain_url(std::string_view text) {
  if (!text.starts_with("https://") && !text.starts_with("http://")) return false;
  return std::ranges::all_of(text, [](char c) {
    return c > ' ' && c < 0x7f && c != '@' && c != '"' && c != '\\' && c != '?';
  });
}

std::string setting_in(std::string_view text, std::string_view key) {
  std::string found;
  while (!text.empty()) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    const auto trim = [](std::string_view part) {
      while (!part.empty() && (part.front() == ' ' || part.front() == '\t')) part.remove_prefix(1);
      while (!part.empty() && (part.back() == ' ' || part.back() == '\t' || part.back() == '\r'))
        part.remove_suffix(1);
      return part;
    };
    const std::size_t equals = line.find('=');
    if (equals == std::string_view::npos || trim(line.substr(0, equals)) != key) continue;
    found = trim(line.substr(equals + 1));
  }
  return found;
}

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

bool may_be_opened(const IpAddress& address) {
  return std::ranges::none_of(never_opened(),
                              [&](const Never& never) { return never.network.contains(address); });
}

Result<NetworkConfig> settle_network(NetworkConfig config) {
  if (config.networks.size() > kMostNetworks) return bad("network.networks: more than 64");
  for (const std::string& text : config.networks) {
    const auto network = Network::parse(text);
    if (!network) return bad("network.networks: '" + text + "' is no network, as 10.1.0.0/16");
    if (network->prefix == 0)
      return bad("network.networks: '" + text +
                 "' is everything: list the networks that sandboxes need, as 10.1.0.0/16");
    for (const auto& never : never_opened()) {
      const auto carried = carried_by(network->address);
      const bool leads_there =
          network->is_one_address() && std::ranges::any_of(carried, [&](const IpAddress& one) {
            return never.network.contains(one);
          });
      if (network->overlaps(never.network) || leads_there) {
        return bad("network.networks: '" + text + "' holds " + never.network.text() + ", " +
                   never.what + ": list narrower networks, without it");
      }
    }
  }
  CAY_CHECK(set_upstream_proxy(config.proxy, config.upstream_proxy, config.no_proxy,
                               [](const char* name) { return ::getenv(name); }));
  if (constexpr std::string_view kSparse = "sparse+"; config.cargo.starts_with(kSparse))
    config.cargo.erase(0, kSparse.size());  // as cargo writes it; it is always one
  for (const auto* mirror : {&config.pip, &config.npm, &config.apt, &config.cargo, &config.go}) {
    if (!mirror->empty() && !is_plain_url(*mirror)) {
      return bad("mirrors: '" + shown_url(*mirror) +
                 "' must be http:// or https:// and hold no user, password or query: every sandbox "
                 "reads it");
    }
  }
  if (config.import_mirrors) {
    if (config.pip.empty())
      config.pip = own_mirror({"/etc/pip.conf", "/etc/xdg/pip/pip.conf"}, "index-url");
    if (config.npm.empty()) config.npm = own_mirror({"/usr/etc/npmrc", "/etc/npmrc"}, "registry");
  }
  CAY_CHECK(policies_of(config));
  return config;
}

Result<policy::Catalogue> policies_of(const NetworkConfig& config) {
  std::vector<policy::Definition> all;
  for (const auto& [name, own] : config.own) {
    auto defined = definitions_of(name, own);
    if (!defined) return bad("policy." + name + ": " + defined.error().message);
    all.insert(all.end(), std::make_move_iterator(defined->begin()),
               std::make_move_iterator(defined->end()));
  }
  policy::Definition packages{.name = "packages", .about = {}, .rules = {}, .adds = true};
  for (const std::string& host : config.hosts) {
    auto rules = host_rules(host);
    if (!rules) return bad("network.hosts: " + rules.error().message);
    packages.rules.rules.insert(packages.rules.rules.end(), rules->begin(), rules->end());
  }
  if (!packages.rules.rules.empty()) all.push_back(std::move(packages));
  const auto mirror = [&](const char* preset, const std::string& url) -> Result<void> {
    if (url.empty()) return {};
    CAY_TRY(std::vector<policy::Rule> rules, host_rules(origin_of(url)));
    all.push_back({.name = preset,
                   .about = {},
                   .rules = {.otherwise = policy::Action::kDeny,
                             .order = policy::Order::kDenyWins,
                             .rules = std::move(rules)},
                   .adds = true});
    return {};
  };
  for (const auto& [preset, url] :
       {std::pair{"pip", &config.pip}, std::pair{"npm", &config.npm},
        std::pair{"debian", &config.apt}, std::pair{"cargo", &config.cargo},
        std::pair{"go", &config.go}}) {
    if (const auto added = mirror(preset, *url); !added)
      return bad("mirrors: " + added.error().message);
  }
  for (const std::string& archive : apt_archives()) {
    static_cast<void>(
        mirror("debian", archive));  // one that is no host, as cdrom:, is none for sandboxes
  }
  // An empty list would mean what none does: every policy.
  if (config.policies.empty())
    return bad(
        "network.policies: an empty list allows no policy at all: write [\"off\"] where no sandbox "
        "is to reach anything, or leave it out for off, packages and open");
  auto made = policy::Catalogue::make(all, config.policies);
  if (!made) return bad(made.error().message);
  for (const std::string& name : config.policies) {
    if (made->find(name) == nullptr)
      return bad("network.policies: there is no policy '" + name + "': Cay has " + names_of(*made));
  }
  return made;
}

gate::Settings gate_settings(const NetworkConfig& config, const std::string& data) {
  gate::Settings out;
  out.data = data;
  if (const auto policies = policies_of(config)) out.named = policies->texts();
  out.networks = config.networks;
  out.policies = config.policies;
  out.socket_memory = config.socket_memory_bytes;
  out.socket_memory_total = config.socket_memory_total_bytes;
  out.sandbox_sent = config.sandbox_sent_bytes;
  out.sandbox_received = config.sandbox_received_bytes;
  out.proxy = config.proxy;
  return out;
}

}  // namespace cay::app
