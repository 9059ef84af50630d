#include "package_sources.h"

#include <fcntl.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <optional>
#include <set>
#include <string_view>

#include "base/ascii.h"
#include "os/file.h"

namespace cay::app {
namespace {

constexpr std::size_t kLongestToken = 16;  // a longer part of a path may be a credential

struct Tool {
  const char* name;
  const char* policy;                  // that lets through the hosts it has by default
  const char* key;                     // of its settings files
  std::vector<std::string> files;      // the last that has the key wins
  std::vector<std::string> variables;  // before any file
};

std::vector<Tool> tools_of(const HostSettings& host) {
  const std::string home = host.variable("HOME");
  const auto at_home = [&](const char* path) { return home.empty() ? "" : home + path; };
  const std::string xdg = host.variable("XDG_CONFIG_HOME");
  return {
      {"pip",
       "pip",
       "index-url",
       {"/etc/xdg/pip/pip.conf", "/etc/pip.conf", at_home("/.pip/pip.conf"),
        xdg.empty() ? at_home("/.config/pip/pip.conf") : xdg + "/pip/pip.conf",
        host.variable("PIP_CONFIG_FILE")},
       {"PIP_INDEX_URL"}},
      {"npm",
       "npm",
       "registry",
       {"/usr/etc/npmrc", "/etc/npmrc", at_home("/.npmrc"), host.variable("NPM_CONFIG_USERCONFIG")},
       {"NPM_CONFIG_REGISTRY", "npm_config_registry"}},
      {"go", "go", "GOPROXY", {at_home("/.config/go/env")}, {"GOPROXY"}},
  };
}

struct Url {
  std::string host;
  std::uint16_t port = 0;
  bool is_tls = false;
  bool is_plain = false;  // holds nothing that may be a credential
};

bool may_be_a_token(std::string_view part) {
  return part.size() > kLongestToken && std::ranges::any_of(part, is_digit);
}

std::optional<Url> url_of(std::string_view text) {
  Url out;
  out.is_tls = text.starts_with("https://");
  if (!out.is_tls && !text.starts_with("http://")) return std::nullopt;
  const std::string_view rest = text.substr(text.find("://") + 3);
  const std::string_view authority = rest.substr(0, rest.find_first_of("/?#"));
  std::string_view path = rest.substr(authority.size());
  out.is_plain = is_plain_url(text);
  while (!path.empty()) {
    path.remove_prefix(1);
    const std::string_view part = path.substr(0, path.find('/'));
    if (may_be_a_token(part)) out.is_plain = false;
    path.remove_prefix(part.size());
  }
  const std::string_view place = authority.substr(authority.rfind('@') + 1);
  const auto rules =
      policy::parse_rule(std::string(out.is_tls ? "https://" : "http://") + std::string(place));
  if (!rules || rules->kind == policy::Rule::Kind::kPolicy ||
      rules->action != policy::Action::kAllow)
    return std::nullopt;
  if (rules->kind == policy::Rule::Kind::kName) {
    out.host = rules->word;
  } else if (rules->kind == policy::Rule::Kind::kNetwork && rules->network.is_one_address()) {
    out.host = rules->network.address.text();
  } else {
    return std::nullopt;
  }
  const std::uint16_t usual = out.is_tls ? policy::kHttpsPort : policy::kHttpPort;
  out.port = rules->ports ? rules->ports->first : usual;
  return out;
}

// The setting of a host, and where it stands.
struct Setting {
  std::string value, from;
};

Setting setting_of(const Tool& tool, const HostSettings& host) {
  for (const std::string& name : tool.variables) {
    if (std::string value = host.variable(name); !value.empty()) return {std::move(value), name};
  }
  Setting out;
  for (const std::string& file : tool.files) {
    if (file.empty()) continue;
    std::string value = setting_in(host.text(file), tool.key);
    if (!value.empty()) out = {std::move(value), file};
  }
  return out;
}

void add_source(std::vector<PackageSource>& to, PackageSource source) {
  const bool is_known = std::ranges::any_of(to, [&](const PackageSource& one) {
    return one.tool == source.tool && one.host == source.host && one.port == source.port;
  });
  if (!is_known) to.push_back(std::move(source));
}

void add_url(std::vector<PackageSource>& to, const std::string& tool, const std::string& url) {
  if (const auto parts = url_of(url))
    add_source(to, {tool, parts->host, parts->port, parts->is_tls, "", ""});
}

void add_hosts_of(std::vector<PackageSource>& to, const Tool& tool,
                  const policy::Catalogue& policies) {
  const policy::NamedPolicy* named = policies.find(tool.policy);
  if (named == nullptr) return;
  for (const policy::Rule& rule : named->policy->rules().rules) {
    if (rule.action != policy::Action::kAllow || rule.kind != policy::Rule::Kind::kName) continue;
    const std::uint16_t port = rule.ports ? rule.ports->first : policy::kHttpsPort;
    add_source(to, {tool.name, rule.word, port, port != policy::kHttpPort, "", ""});
  }
}

bool is_in_packages(const policy::Catalogue& policies, const PackageSource& source) {
  const policy::NamedPolicy* packages = policies.find("packages");
  if (packages == nullptr) return false;
  if (const auto address = IpAddress::parse(source.host)) {
    return policy::verdict_of_address(*address, source.port,
                                      [&](const policy::ConnectionFacts& facts) {
                                        return packages->policy->decide(facts);
                                      })
        .allowed();
  }
  const std::string names[] = {source.host};
  return packages->policy
      ->decide({.names = names, .shown = source.host, .address = std::nullopt, .port = source.port})
      .allowed();
}

std::vector<std::string> certificates_in(std::string_view text) {
  constexpr std::string_view kBegin = "-----BEGIN CERTIFICATE-----";
  constexpr std::string_view kEnd = "-----END CERTIFICATE-----";
  std::vector<std::string> out;
  for (std::size_t at = text.find(kBegin); at != std::string_view::npos;) {
    const std::size_t end = text.find(kEnd, at);
    if (end == std::string_view::npos) break;
    std::string one(text.substr(at + kBegin.size(), end - at - kBegin.size()));
    std::erase_if(one, [](char c) { return c == '\n' || c == '\r' || c == ' '; });
    out.push_back(std::move(one));
    at = text.find(kBegin, end);
  }
  return out;
}

// "a, b and c"; of many the first few, and how many more there are.
std::string listed(const std::vector<std::string>& words, std::size_t most) {
  std::string out;
  const std::size_t shown = words.size() > most + 1 ? most : words.size();
  for (std::size_t i = 0; i < shown; ++i) {
    const bool is_last = i + 1 == words.size();
    out += (i == 0 ? "" : is_last ? " and " : ", ") + words[i];
  }
  if (shown < words.size()) out += " and " + std::to_string(words.size() - shown) + " more";
  return out;
}

std::string quoted_list(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& word : words) out += (out.empty() ? "\"" : ", \"") + word + "\"";
  return "[" + out + "]";
}

void add_once(std::vector<std::string>& to, const std::string& word) {
  if (std::ranges::find(to, word) == to.end()) to.push_back(word);
}

// Gathers what keeps sandboxes from the sources, and the settings that open them.
class Findings {
 public:
  explicit Findings(const PackageFacts& facts) : facts_(facts), networks_(facts.config.networks) {
    for (const std::string& text : facts.config.networks) {
      if (const auto one = Network::parse(text)) opened_.push_back(*one);
    }
  }

  void look_at(const FoundSource& found) {
    const PackageSource& source = found.source;
    const bool is_foreign = !is_in_packages(facts_.policies, source);
    const bool is_closed = !found.addresses.empty() &&
                           std::ranges::all_of(found.addresses, [&](const IpAddress& address) {
                             return closed(address);
                           });
    if (found.addresses.empty()) add_once(not_found_, source.host);
    if (!is_foreign && !is_closed) {
      add_once(reached_, source.host);
      return;
    }
    add_once(tools_, source.tool);
    needs_authorities_ = needs_authorities_ || (source.is_tls && facts_.own_authorities);
    if (is_foreign) add_mirror(source);
    if (!is_closed) return;
    add_once(special_, source.host);
    for (const IpAddress& address : found.addresses) add_address(source, address);
  }

  core::Feature feature() const {
    core::Feature out;
    out.name = "packages";
    out.ok = tools_.empty();
    if (out.ok) {
      out.found = reached_.empty() ? "no package manager's server is known"
                                   : "sandboxes may reach " + listed(reached_, 3);
      if (!not_found_.empty()) out.found += "; no address found of " + listed(not_found_, 3);
      return out;
    }
    if (!special_.empty())
      out.found = listed(special_, 3) + (special_.size() == 1 ? " leads" : " lead") +
                  " to special addresses";
    if (!foreign_.empty())
      out.found += (out.found.empty() ? "" : "; ") + listed(foreign_, 3) +
                   (foreign_.size() == 1 ? " is" : " are") + " not in the policy packages";
    out.fallback = "installing by " + listed(tools_, 4) + " fails in sandboxes";
    out.remedy = remedy();
    return out;
  }

 private:
  bool closed(const IpAddress& address) const {
    if (facts_.is_own_address && facts_.is_own_address(address))
      return !is_opened_by_itself(address, opened_);
    return is_special(address) && !is_opened(address, opened_);
  }

  void add_mirror(const PackageSource& source) {
    add_once(foreign_, source.host + " (" + source.tool + ", by " + source.from + ")");
    if (source.url.empty()) {
      notes_.push_back("The URL of " + source.tool + " in " + source.from +
                       " may hold a credential, which every sandbox could read: name a mirror "
                       "without one as mirrors." +
                       source.tool + ".");
      return;
    }
    mirrors_[source.tool] = source.url;
  }

  void add_address(const PackageSource& source, const IpAddress& address) {
    const std::string text = address.text();
    if (is_metadata(address) || !may_be_opened(address)) {
      add_once(notes_, source.host + " leads to " + text + ", " + std::string(kind_of(address)) +
                           ", which Cay does not open for that: serve it at another address.");
      return;
    }
    add_once(networks_, text);
    add_once(lead_[text], source.host);
  }

  std::string remedy() const {
    std::string lines;
    if (networks_.size() > facts_.config.networks.size() || needs_host_authorities()) {
      lines += "\n[network]";
      for (const auto& [address, hosts] : lead_)
        lines += "\n# " + address + ": " + listed(hosts, hosts.size());
      if (networks_.size() > facts_.config.networks.size())
        lines += "\nnetworks = " + quoted_list(networks_);
      if (needs_host_authorities()) lines += "\nhost_authorities = true";
    }
    if (!mirrors_.empty()) lines += "\n[mirrors]";
    for (const auto& [tool, url] : mirrors_) lines += "\n" + tool + " = \"" + url + "\"";
    std::string out;
    if (!lines.empty())
      out = "write this into the daemon's settings (cay serve --config FILE) and start it again:" +
            lines;
    for (const std::string& note : notes_) out += (out.empty() ? "" : "\n") + note;
    return out;
  }

  bool needs_host_authorities() const {
    return needs_authorities_ && !facts_.config.host_authorities;
  }

  const PackageFacts& facts_;
  std::vector<Network> opened_;
  std::vector<std::string> networks_;  // those of the settings, and those to add
  std::vector<std::string> reached_, not_found_, special_, foreign_, tools_, notes_;
  std::map<std::string, std::vector<std::string>> lead_;  // address -> hosts
  std::map<std::string, std::string> mirrors_;            // tool -> URL
  bool needs_authorities_ = false;
};

}  // namespace

HostSettings host_settings() {
  return {
      .text = [](const std::string& path) { return os::read_file(AT_FDCWD, path).value_or(""); },
      .variable =
          [](const std::string& name) {
            const char* value = std::getenv(name.c_str());
            return std::string(value == nullptr ? "" : value);
          },
      .apt_archives = apt_archives()};
}

std::vector<PackageSource> package_sources(const NetworkConfig& config,
                                           const policy::Catalogue& policies,
                                           const HostSettings& host) {
  std::vector<PackageSource> out;
  const std::map<std::string, const std::string*> mirrors = {
      {"pip", &config.pip}, {"npm", &config.npm}, {"go", &config.go}};
  for (const Tool& tool : tools_of(host)) {
    if (const std::string& mirror = *mirrors.at(tool.name); !mirror.empty()) {
      add_url(out, tool.name, mirror);
      continue;
    }
    const Setting own = setting_of(tool, host);
    const std::string first = own.value.substr(0, own.value.find_first_of(",|"));  // as GOPROXY's
    const auto parts = url_of(first);
    if (!parts) {
      add_hosts_of(out, tool, policies);
      continue;
    }
    add_source(out, {tool.name, parts->host, parts->port, parts->is_tls,
                     parts->is_plain ? first : std::string(), own.from});
  }
  const std::vector<std::string> archives =
      config.apt.empty() ? host.apt_archives : std::vector<std::string>{config.apt};
  for (const std::string& archive : archives) add_url(out, "apt", archive);
  return out;
}

bool has_own_authorities(const HostSettings& host) {
  std::set<std::string> shipped;
  std::string_view list;
  const std::string names = host.text("/etc/ca-certificates.conf");
  for (list = names; !list.empty();) {
    const std::string_view name = list.substr(0, list.find('\n'));
    list.remove_prefix(std::min(list.size(), name.size() + 1));
    if (name.empty() || name.front() == '#' || name.front() == '!') continue;
    const std::string text = host.text("/usr/share/ca-certificates/" + std::string(name));
    for (std::string& one : certificates_in(text)) shipped.insert(std::move(one));
  }
  if (shipped.empty()) return false;  // the distribution keeps no such list
  const std::string bundle = host.text("/etc/ssl/certs/ca-certificates.crt");
  return std::ranges::any_of(certificates_in(bundle),
                             [&](const std::string& one) { return !shipped.contains(one); });
}

core::Feature packages_feature(const std::vector<FoundSource>& found, const PackageFacts& facts) {
  if (!facts.policies.check_allowed({.policy = "packages"}))
    return {"packages", true, "the settings allow no sandbox the policy packages", "", ""};
  Findings findings(facts);
  for (const FoundSource& one : found) findings.look_at(one);
  return findings.feature();
}

}  // namespace cay::app
