#include "program.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include "backup_command.h"
#include "broker_command.h"
#include "cli/cli.h"
#include "client_settings.h"
#include "command_line.h"
#include "config.h"
#include "data_dir.h"
#include "gate_command.h"
#include "images_command.h"
#include "install_command.h"
#include "keys_command.h"
#include "launcher_command.h"
#include "os/process.h"

namespace cay::app {
namespace {

int serve_command(int argc, char** argv, const MoreRuntimes& more) {
  cay::app::Config config;
  CLI::App app{"The daemon: makes sandboxes and serves them over HTTP.", "cay serve"};
  app.footer(
      "Prints `cay: listening on http://ADDR` once it answers. SIGTERM ends it and leaves "
      "sandboxes alive.\n"
      "Examples:\n"
      "  sudo cay serve                                  on 127.0.0.1:8787, state in /var/lib/cay\n"
      "  cay serve --listen 127.0.0.1:0 --data ./state   a free port, your own state (needs `cay "
      "launcher`)\n"
      "  sudo cay serve --config /etc/cay/cay.toml");
  std::string file, listen, data, run_as, public_url, service_domain, log_level, tls_cert, tls_key,
      policy;
  std::vector<std::string> proxies;
  bool stop = false, insecure = false, tls = false;
  std::optional<std::uint32_t> pool;
  app.add_option("--config", file, "TOML file of settings (docs/operator.md)")
      ->check(CLI::ExistingFile);
  app.add_option("--listen", listen,
                 "ADDRESS:PORT (default 127.0.0.1:8787; port 0 takes a free one)");
  app.add_option("--data", data,
                 "where state is kept (default " + cay::app::default_data_dir() + ")");
  app.add_option("--run-as", run_as,
                 "user that the daemon becomes when root starts it (default cay, if there is one)");
  app.add_option("--public-url", public_url, "how clients see this daemon, as https://cay.example");
  app.add_option("--trusted-proxy", proxies,
                 "address or network whose X-Forwarded-* is believed; repeatable")
      ->allow_extra_args(false);
  app.add_option("--service-domain", service_domain,
                 "domain of services, one host each: ID--PORT.DOMAIN (default localhost)");
  app.add_flag("--tls", tls,
               "serve https; without --tls-cert with a certificate of our own, DATA/tls/cert.pem, "
               "for clients to trust");
  app.add_option("--tls-cert", tls_cert,
                 "certificate chain to serve https with (PEM); read again when it changes");
  app.add_option("--tls-key", tls_key, "its key (PEM)");
  app.add_option(
      "--default-policy", policy,
      "what sandboxes may reach whose request names no policy: a policy (cay policy ls), or "
      "rules (default packages)");
  app.add_flag("--insecure-http", insecure, "allow plain HTTP off loopback");
  app.add_option("--pool", pool,
                 "keep up to so many sandboxes booted ahead, of the kinds that are created most "
                 "(default 0: none)");
  app.add_flag("--stop-sandboxes", stop, "stop all sandboxes at SIGTERM");
  app.add_option("--log-level", log_level, "trace, debug, info, warn, error");
  if (const auto over = cay::app::parse_words(app, argc, argv)) return *over;
  if (!file.empty()) {
    auto loaded = cay::app::load_config(file, config);
    if (!loaded) return cay::app::fail("cay serve", loaded.error());
  }
  const auto replace = [](std::string& target, const std::string& given) {
    if (!given.empty()) target = given;
  };
  replace(config.listen, listen);
  replace(config.data, data);
  replace(config.run_as, run_as);
  replace(config.public_url, public_url);
  replace(config.service_domain, service_domain);
  replace(config.log_level, log_level);
  replace(config.core.defaults.policy, policy);
  if (pool) config.core.host.pool = *pool;
  if (!proxies.empty()) config.trusted_proxies = proxies;
  config.stop_sandboxes = config.stop_sandboxes || stop;
  config.insecure_http = config.insecure_http || insecure;
  config.tls = config.tls || tls;
  replace(config.tls_cert, tls_cert);
  replace(config.tls_key, tls_key);
  return cay::app::serve(config, more);
}

}  // namespace

int run_program(int argc, char** argv, const MoreRuntimes& more) {
  cay::os::fill_standard_streams();
  const std::vector<cay::cli::Hook> ours = {
      {"serve", "run the daemon",
       [&more](int count, char** words) { return serve_command(count, words, more); }},
      {"launcher", "the privileged side, for a daemon of your own", cay::app::launcher_command},
      {"gate", "the way out of sandboxes", cay::app::gate_command},
      {"images", "fetches container images", cay::app::images_command},
      {"broker", "keeps the key to secrets", cay::app::broker_command},
      {"backup", "everything of a data directory in one file", cay::app::backup_command},
      {"restore", "a backup into a new data directory", cay::app::restore_command},
      {"install", "this program as a service of the machine", cay::app::install_command},
      {"uninstall", "take it away again", cay::app::uninstall_command},
      {"key", "make, list and remove API keys", cay::app::key_command, "keys"}};
  const bool is_ours = argc > 1 && std::any_of(ours.begin(), ours.end(), [&](const auto& one) {
                         return one.is_called(argv[1]);
                       });
  if (argc > 1 && !is_ours) cay::app::follow_installed_settings();
  return cay::cli::run(argc, argv, ours);
}

}  // namespace cay::app
