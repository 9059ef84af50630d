#include "config.h"

#include "webhook_config.h"

#define TOML_EXCEPTIONS 0
#include <toml++/toml.h>

#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdlib>
#include <functional>
#include <limits>
#include <map>

#include "data_dir.h"

namespace cay::app {
namespace {

using Setter = std::function<Result<void>(const toml::node&)>;

Error wrong(std::string_view what) {
  return Error{Code::kInvalidArgument, "bad_config", "must be " + std::string(what), 0};
}

Setter text(std::string& target) {
  return [&target](const toml::node& node) -> Result<void> {
    const auto value = node.value_exact<std::string>();
    if (!value) return wrong("a string");
    target = *value;
    return {};
  };
}

Setter flag(bool& target) {
  return [&target](const toml::node& node) -> Result<void> {
    const auto value = node.value_exact<bool>();
    if (!value) return wrong("true or false");
    target = *value;
    return {};
  };
}

template <class T>
Setter number(T& target, std::int64_t low) {
  return [&target, low](const toml::node& node) -> Result<void> {
    const auto value = node.value_exact<std::int64_t>();
    if (!value || *value < low ||
        static_cast<std::uint64_t>(*value) > std::numeric_limits<T>::max()) {
      return wrong("a whole number from " + std::to_string(low));
    }
    target = static_cast<T>(*value);
    return {};
  };
}

Setter ratio(double& target) {
  return [&target](const toml::node& node) -> Result<void> {
    const auto value = node.value<double>();
    if (!value || *value < 1.0 || *value > 1000.0) return wrong("a number from 1 to 1000");
    target = *value;
    return {};
  };
}

Setter texts(std::vector<std::string>& target) {
  return [&target](const toml::node& node) -> Result<void> {
    const auto* list = node.as_array();
    if (list == nullptr) return wrong("a list of strings");
    target.clear();
    for (const auto& item : *list) {
      const auto value = item.value_exact<std::string>();
      if (!value) return wrong("a list of strings");
      target.push_back(*value);
    }
    return {};
  };
}

// A section with a string, or a list of strings, for each name.
Setter lists(std::map<std::string, std::vector<std::string>>& target) {
  return [&target](const toml::node& node) -> Result<void> {
    const auto* section = node.as_table();
    if (section == nullptr) return wrong("a section");
    target.clear();
    for (const auto& [name, value] : *section) {
      std::vector<std::string>& to = target[std::string(name.str())];
      if (const auto one = value.value_exact<std::string>()) {
        to = {*one};
        continue;
      }
      if (auto set = texts(to)(value); !set)
        return wrong("a string or a list of strings for each name");
    }
    return {};
  };
}

std::map<std::string, Setter> settings(Config& config) {
  auto& host = config.core.host;
  auto& defaults = config.core.defaults;
  return {
      {"server.listen", text(config.listen)},
      {"server.data", text(config.data)},
      {"server.run_as", text(config.run_as)},
      {"server.public_url", text(config.public_url)},
      {"server.service_domain", text(config.service_domain)},
      {"server.trusted_proxies", texts(config.trusted_proxies)},
      {"server.insecure_http", flag(config.insecure_http)},
      {"server.tls", flag(config.tls)},
      {"server.tls_cert", text(config.tls_cert)},
      {"server.tls_key", text(config.tls_key)},
      {"server.log_level", text(config.log_level)},
      {"server.requests_per_second", number(config.requests_per_second, 0)},
      {"server.strangers_per_second", number(config.strangers_per_second, 0)},
      {"server.link_requests_per_second", number(config.link_requests_per_second, 0)},
      {"server.audit", flag(config.audit)},
      {"host.max_sandboxes", number(host.max_sandboxes, 1)},
      {"host.memory_reserve_bytes", number(host.memory_reserve_bytes, 0)},
      {"host.disk_reserve_bytes", number(host.disk_reserve_bytes, 0)},
      {"host.memory_overcommit", ratio(host.memory_overcommit)},
      {"host.cpu_overcommit", ratio(host.cpu_overcommit)},
      {"host.max_parallel_boots", number(host.max_parallel_boots, 1)},
      {"host.pool", number(host.pool, 0)},
      {"host.profiles", texts(config.profiles)},
      {"host.nested_networks", flag(config.nested_networks)},
      {"host.sandbox_output_bytes", number(config.sandbox_output_bytes, 1 << 20)},
      {"defaults.cpu_millicores", number(defaults.limits.cpu_millicores, 50)},
      {"defaults.memory_bytes", number(defaults.limits.memory_bytes, 16 << 20)},
      {"defaults.disk_bytes", number(defaults.limits.disk_bytes, 16 << 20)},
      {"defaults.pids", number(defaults.limits.pids, 16)},
      {"defaults.profile", text(config.profile)},
      {"defaults.idle_ttl_s", number(defaults.idle_ttl_s, 0)},
      {"defaults.delete_after_stop_s", number(defaults.delete_after_stop_s, 0)},
      {"maximum.cpu_millicores", number(defaults.maximum.cpu_millicores, 50)},
      {"maximum.memory_bytes", number(defaults.maximum.memory_bytes, 16 << 20)},
      {"maximum.disk_bytes", number(defaults.maximum.disk_bytes, 16 << 20)},
      {"maximum.pids", number(defaults.maximum.pids, 16)},
      {"network.default_policy", text(defaults.policy)},
      {"network.policies", texts(config.network.policies)},
      {"network.hosts", texts(config.network.hosts)},
      {"network.networks", texts(config.network.networks)},
      {"network.upstream_proxy", text(config.network.upstream_proxy)},
      {"network.no_proxy", texts(config.network.no_proxy)},
      {"network.socket_memory_bytes", number(config.network.socket_memory_bytes, 16 << 20)},
      {"network.socket_memory_total_bytes",
       number(config.network.socket_memory_total_bytes, 64 << 20)},
      {"network.sandbox_sent_bytes", number(config.network.sandbox_sent_bytes, 0)},
      {"network.sandbox_received_bytes", number(config.network.sandbox_received_bytes, 0)},
      {"network.host_authorities", flag(config.network.host_authorities)},
      {"images.mirrors", lists(config.images.mirrors)},
      {"images.default", text(config.core.default_snapshot)},
      {"images.ca_file", text(config.images.ca_file)},
      {"images.cache_bytes", number(config.images.cache_bytes, 64 << 20)},
      {"mirrors.of_host", flag(config.network.import_mirrors)},
      {"mirrors.pip", text(config.network.pip)},
      {"mirrors.npm", text(config.network.npm)},
      {"mirrors.apt", text(config.network.apt)},
      {"mirrors.cargo", text(config.network.cargo)},
      {"mirrors.go", text(config.network.go)},
      {"vault.passphrase_file", text(config.vault.passphrase_file)},
      {"vault.previous_passphrase_file", text(config.vault.previous_passphrase_file)},
      {"vault.ca_file", text(config.vault.ca_file)},
      {"tracing.otlp_endpoint", text(config.otlp_endpoint)},
      {"tracing.otlp_ca_file", text(config.otlp_ca_file)},
      {"events.keep", number(config.keep_events, 100)},
      {"langsmith.upstream", text(config.langsmith.url)},
      {"langsmith.upstream_key", text(config.langsmith.key)},
      {"langsmith.upstream_key_file", text(config.langsmith.key_file)},
      {"langsmith.upstream_tenants", texts(config.langsmith.tenants)},
      {"langsmith.upstream_ca_file", text(config.langsmith.ca_file)},
  };
}

// [policy.NAME]
Result<void> load_policies(const toml::node& node, std::map<std::string, NetworkConfig::Own>& own) {
  const auto bad = [](const std::string& what) {
    return Error{Code::kInvalidArgument, "bad_config", what, 0};
  };
  const auto* all = node.as_table();
  if (all == nullptr) return bad("policies are sections, as [policy.corp]");
  for (const auto& [name, one] : *all) {
    const std::string prefix = "policy." + std::string(name.str());
    const auto* section = one.as_table();
    if (section == nullptr) return bad("'" + prefix + "' must be a [section]");
    NetworkConfig::Own& to = own[std::string(name.str())];
    const std::map<std::string, Setter> known = {{"about", text(to.about)},
                                                 {"default", text(to.otherwise)},
                                                 {"order", text(to.order)},
                                                 {"rules", texts(to.rules)},
                                                 {"add", texts(to.add)}};
    for (const auto& [key, value] : *section) {
      const auto setting = known.find(std::string(key.str()));
      if (setting == known.end())
        return bad("unknown setting '" + prefix + "." + std::string(key.str()) + "'");
      auto set = setting->second(value);
      if (!set) return std::move(set).error().while_doing(prefix + "." + std::string(key.str()));
    }
  }
  return {};
}

}  // namespace

Result<void> load_config(const std::string& path, Config& config) {
  const auto parsed = toml::parse_file(path);
  if (!parsed) {
    return Error{Code::kInvalidArgument, "bad_config",
                 path + ":" + std::to_string(parsed.error().source().begin.line) + ": " +
                     std::string(parsed.error().description()),
                 0};
  }
  const auto known = settings(config);
  if (const auto* list = parsed.table()["webhooks"].node()) {
    auto read = load_webhooks(*list, config.webhooks);
    if (!read) return std::move(read).error().while_doing(path);
  }
  if (const auto* policies = parsed.table()["policy"].node()) {
    auto read = load_policies(*policies, config.network.own);
    if (!read) return std::move(read).error().while_doing(path);
  }
  for (const auto& [section_name, section_node] : parsed.table()) {
    const auto* section = section_node.as_table();
    const std::string prefix(section_name.str());
    if (prefix == "webhooks" || prefix == "policy") continue;
    if (section == nullptr) {
      return Error{Code::kInvalidArgument, "bad_config",
                   path + ": '" + prefix + "' must be a [section]", 0};
    }
    for (const auto& [name, node] : *section) {
      const std::string full = prefix + "." + std::string(name.str());
      const auto setting = known.find(full);
      if (setting == known.end()) {
        return Error{Code::kInvalidArgument, "bad_config",
                     path + ": unknown setting '" + full + "'", 0};
      }
      auto set = setting->second(node);
      if (!set) return std::move(set).error().while_doing(path + ": " + full);
    }
  }
  return {};
}

Result<void> choose_data_dir(std::string& config, std::string& data) {
  if (config.empty() && data.empty() && std::getenv("CAY_DATA") == nullptr &&
      ::access(kInstalledSettings, R_OK) == 0)
    config = kInstalledSettings;
  if (data.empty() && !config.empty()) {
    Config settings;
    CAY_CHECK(load_config(config, settings));
    data = settings.data;
  }
  if (data.empty()) data = default_data_dir();
  return {};
}

Result<void> settle_data_dir(std::string& config, std::string& data) {
  CAY_CHECK(choose_data_dir(config, data));
  char real[PATH_MAX];
  if (::realpath(data.c_str(), real) == nullptr)
    return Error::from_errno(errno, "find the data directory " + data);
  data = real;
  return {};
}

}  // namespace cay::app
