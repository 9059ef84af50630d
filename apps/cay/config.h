// Config: the operator's settings, from a TOML file and flags (flags win).
// docs/operator/configure.md lists them.
#pragma once
#include <string>
#include <vector>

#include "base/result.h"
#include "api/outbound/webhooks.h"
#include "core/make_core.h"
#include "images_config.h"
#include "network_config.h"
#include "vault_config.h"

namespace cay::app {

// The package and `cay install` put the settings here.
constexpr const char* kInstalledSettings = "/etc/cay/cay.toml";

struct LangsmithUpstream {
  std::string url;  // empty: traces are not forwarded
  std::string key;
  std::string key_file;                            // where the key is instead
  std::vector<std::string> tenants = {"default"};  // whose keys may use it
  std::string ca_file;  // https: trust the authorities in it alone; empty: the system's
};

struct Config {
  std::string listen = "127.0.0.1:8787";
  std::string data;    // empty: default_data_dir()
  std::string run_as;  // root only
  std::string public_url;
  std::uint64_t sandbox_output_bytes =
      0;  // kept of all commands of a sandbox; 0: the keeper's default
  std::string service_domain;
  std::vector<std::string> trusted_proxies;
  bool insecure_http = false;
  bool tls = false;               // with a certificate of our own, unless tls_cert names one
  std::string tls_cert, tls_key;  // PEM files
  bool stop_sandboxes = false;    // at SIGTERM
  std::string log_level = "info";
  std::uint32_t requests_per_second = 5000;  // of one key; 0: any number
  std::uint32_t strangers_per_second = 100;  // without a good key, from one address; 0: any number
  std::uint32_t link_requests_per_second = 2000;  // by one link; 0: any number
  bool audit = true;                              // DATA/audit.log
  std::uint64_t keep_events = 100'000;            // of each tenant
  core::CoreConfig core;
  LangsmithUpstream langsmith;
  std::vector<api::WebhookConfig> webhooks;
  NetworkConfig network;
  ImagesConfig images;
  std::vector<std::string> profiles = {"strict", "default"};  // that sandboxes may have
  std::string profile = "default";                            // of sandboxes that request none
  bool nested_networks = false;  // profile nested: network namespaces inside
  VaultConfig vault;
  std::string otlp_endpoint;  // empty: no traces
  std::string otlp_ca_file;   // https: trust the authorities in it alone; empty: the system's
};

// Reads `path` over `config`. Unknown settings are errors: a misspelt limit is no limit.
Result<void> load_config(const std::string& path, Config& config);

// For commands about an installed daemon. An empty `config` becomes /etc/cay/cay.toml if that file
// is there. An empty `data` becomes the settings' data directory, else default_data_dir().
Result<void> choose_data_dir(std::string& config, std::string& data);
// The same of one that exists; made canonical.
Result<void> settle_data_dir(std::string& config, std::string& data);

}  // namespace cay::app
