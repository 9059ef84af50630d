#include "base/ascii.h"
#include "serve.h"

#include <signal.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <tuple>
#include <utility>

#include "api/daytona/config.h"
#include "api/gateway/gateway.h"
#include "api/langsmith/config.h"
#include "api/mcp/mcp.h"
#include "api/native/native.h"
#include "api/outbound/otlp.h"
#include "async/deadline.h"
#include "async/scope.h"
#include "async/spawn.h"
#include "audit_log.h"
#include "broker_process.h"
#include "command_line.h"
#include "core/runtimes.h"
#include "core/validate.h"
#include "core/verbs/events.h"
#include "core/verbs/links.h"
#include "data_dir.h"
#include "forward.h"
#include "gate_process.h"
#include "http/listener.h"
#include "image/remote_images.h"
#include "images_process.h"
#include "launcher_process.h"
#include "launcher_watch.h"
#include "os/process.h"
#include "os/route.h"
#include "os/service_manager.h"
#include "package_check.h"
#include "runtime/native/native_runtime.h"
#include "runtime/native/rules_file.h"
#include "server/default_key.h"
#include "server/dispatch.h"
#include "server/key_file.h"
#include "server/route_class.h"
#include "store/store.h"
#include "tls_config.h"
#include "vault/broker_client.h"

namespace cay::app {
namespace {

constexpr Millis kShutdownLimit{5'000};
constexpr Millis kRightsLook{500};
constexpr Millis kTraceLimit{2'000};
constexpr std::uint32_t kMilliPerCpu = 1000;

// Returns the memory, CPUs and disk that the host has for sandboxes. `disks` is the directory of
// their disks.
core::HostCapacity capacity_of_host(const std::string& disks) {
  core::HostCapacity capacity;
  const long pages = ::sysconf(_SC_PHYS_PAGES);
  const long page = ::sysconf(_SC_PAGESIZE);
  const long cpus = ::sysconf(_SC_NPROCESSORS_ONLN);
  if (pages > 0 && page > 0)
    capacity.memory_bytes = static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(page);
  if (cpus > 0) capacity.cpu_millicores = static_cast<std::uint32_t>(cpus) * kMilliPerCpu;
  capacity.free_disk_bytes = [disks] {
    struct statvfs facts{};
    if (::statvfs(disks.c_str(), &facts) != 0) return ~std::uint64_t{0};  // unknown is no limit
    return static_cast<std::uint64_t>(facts.f_bavail) * facts.f_frsize;
  };
  return capacity;
}

// Returns true if programs of this machine can resolve *.localhost, as RFC 6761 demands. Only these
// sources of glibc resolve it. A test by the resolver could wait for a silent name server.
bool local_names_resolve() {
  std::ifstream settings("/etc/nsswitch.conf");
  for (std::string line; std::getline(settings, line);) {
    std::istringstream words(line.substr(0, line.find('#')));
    std::string word;
    words >> word;
    if (word != "hosts:") continue;
    while (words >> word) {
      if (word == "myhostname" || word == "resolve") return true;
    }
  }
  return false;
}

// How the outside sees services. The API's own host must not be one of theirs.
Result<api::ServiceNames> service_names(const Config& config) {
  api::ServiceNames out;
  out.local = config.service_domain.empty();
  out.resolves = out.local && local_names_resolve();
  if (out.local) return out;
  out.domain = config.service_domain;
  const std::string_view labels =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-.";
  const bool proper = out.domain.find_first_not_of(labels) == std::string::npos &&
                      !out.domain.starts_with('.') && !out.domain.ends_with('.');
  if (!proper) {
    return Error{Code::kInvalidArgument, "bad_service_domain",
                 "the service domain '" + out.domain + "' is not a domain, such as box.example.org",
                 0};
  }
  if (config.public_url.empty()) return out;
  const auto begin = config.public_url.find("://");
  std::string authority =
      begin == std::string::npos ? config.public_url : config.public_url.substr(begin + 3);
  authority = authority.substr(0, authority.find('/'));
  out.scheme = config.public_url.substr(0, begin);
  const auto colon = authority.rfind(':');
  if (colon != std::string::npos && authority.find(']', colon) == std::string::npos)
    out.port = authority.substr(colon);
  const std::string host = server::host_without_port(authority);
  if (out.is_service_host(host) || equals_ignoring_case(host, out.domain)) {
    return Error{Code::kInvalidArgument, "bad_service_domain",
                 "the public URL's host " + host + " may not be in the service domain " +
                     out.domain + ": services could pass for the daemon",
                 0};
  }
  return out;
}

// The states of DATA/keys and of DATA/api-key.
using KeysSeen = std::pair<server::FileState, server::FileState>;
KeysSeen keys_seen_in(const std::string& data) {
  return {server::state_of(data + "/keys"), server::state_of(data + "/api-key")};
}

// Made if it is not there yet.
Result<std::string> own_key(const DataDir& data) {
  if (const char* given = std::getenv("CAY_API_KEY"); given != nullptr && *given != '\0')
    return std::string(given);
  return server::ensure_key_file(data.path + "/api-key");
}

Result<server::KeyRing> keys_of(const DataDir& data, core::Store& store) {
  CAY_TRY(server::KeyRing ring, server::load_keys(data.path + "/keys"));
  CAY_TRY(const std::string first, own_key(data));
  server::KeyRecord own{.name = "default",
                        .tenant = "default",
                        .hash = server::hash_key(first),
                        .scope = KeyScope::kAdmin};
  CAY_TRY(own.since, server::default_key_since(store, own.hash, system_clock().wall()));
  CAY_CHECK(ring.add(std::move(own)));
  return ring;
}

// A request as a span, by the names of OpenTelemetry's conventions for HTTP.
Span span_of(const server::AccessRecord& record) {
  Span span;
  span.trace = record.trace;
  span.parent_id = record.trace_parent;
  span.name = record.method + " " + record.route;
  span.server = true;
  span.begin = record.begin;
  span.end = record.begin + static_cast<UnixMillis>(record.milliseconds);
  span.attributes = {{"http.request.method", record.method},
                     {"http.route", record.route},
                     {"http.response.status_code", std::to_string(record.status)}};
  constexpr int kServerError = 500;
  if (record.failed || record.status >= kServerError)
    span.error = "the request failed; request id " + record.request_id;
  return span;
}

wire::PrepareDefault prepare_default(const NetworkConfig& network) {
  wire::PrepareDefault out;
  out.host_authorities = network.host_authorities;
  out.pip_index = network.pip;
  out.npm_registry = network.npm;
  out.cargo_index = network.cargo;
  out.go_proxy = network.go;
  out.apt_archive = network.apt;
  return out;
}

// `--listen` was checked (server::check_listen).
std::pair<std::string, std::uint16_t> listen_address(const Config& config) {
  const auto colon = config.listen.rfind(':');
  std::string address = config.listen.substr(0, colon);
  if (!address.empty() && address.front() == '[') address = address.substr(1, address.size() - 2);
  return {std::move(address),
          static_cast<std::uint16_t>(std::stoul(config.listen.substr(colon + 1)))};
}

// One daemon, from an open data directory to its end.
class Daemon {
 public:
  Daemon(asio::io_context& loop, const Config& config, const PackageCheck& packages, DataDir data,
         std::unique_ptr<core::Store> store, server::KeyRing keys, KeysSeen keys_seen,
         const MoreRuntimes& more)
      : loop_(loop),
        config_(config),
        packages_(packages),
        data_(std::move(data)),
        store_(std::move(store)),
        keys_(std::move(keys)),
        keys_seen_(keys_seen),
        runtime_(loop.get_executor(),
                 runtime::NativeConfig{
                     .data = data_.path,
                     .instance = data_.instance,
                     .build = CAY_VERSION,
                     .spool_bytes = config_.sandbox_output_bytes,
                     .disk_reserve = config.core.host.disk_reserve_bytes,
                     .gate_goes_by = gate_identity(gate_settings(config.network, data_.path)),
                     .networks = config_.network.networks,
                     .nested_networks = config_.nested_networks,
                     .prepare = prepare_default(config.network)}),
        vault_(loop.get_executor(), data_.path,
               [loop = loop.get_executor(), data = data_.path](SandboxId id) {
                 return runtime::tell_gate(loop, data, std::move(id));
               }),
        images_(image::remote_images(loop.get_executor(),
                                     data_.path + "/" + kImages.directory + "/" + kImages.socket)),
        more_(more ? more(loop.get_executor(), data_.path) : std::vector<OwnedRuntime>()),
        core_(core::make_core(loop.get_executor(), runtimes(), *store_, system_clock(),
                              core_config())) {}

  asio::awaitable<void> run() {
    auto served = co_await serve();
    if (!served) exit_code_ = fail("cay serve", served.error());
    loop_.stop();
  }

  // SIGHUP: looks at the keys at once, also where a file was changed behind our back.
  asio::awaitable<void> reload_on_hangup() {
    asio::signal_set hangup(loop_, SIGHUP);
    for (;;) {
      co_await hangup.async_wait(asio::use_awaitable);
      read_keys();
    }
  }

  // Logs that both of a pair of watchers were killed, before a user misses them. `loss` is the
  // consequence.
  asio::awaitable<void> mind_watcher(UniqueFd watch, std::string name, std::string loss) {
    asio::posix::stream_descriptor pipe(loop_, watch.release());
    boost::system::error_code ignored;
    co_await pipe.async_wait(asio::posix::stream_descriptor::wait_error,
                             asio::redirect_error(asio::use_awaitable, ignored));
    spdlog::error(
        "{} was killed: {}. Restart `cay serve` as whoever started it; sandboxes and commands go "
        "on meanwhile",
        name, loss);
  }

  int exit_code() const { return exit_code_; }

 private:
  // The native one is the first: it makes sandboxes of the default snapshot.
  std::vector<core::NamedRuntime> runtimes() {
    std::vector<core::NamedRuntime> all;
    all.push_back({std::string(kNativeRuntime), runtime_});
    for (const OwnedRuntime& one : more_) all.push_back({one.name, *one.runtime});
    return all;
  }

  core::CoreConfig core_config() {
    core::CoreConfig core = config_.core;
    core.capacity = capacity_of_host(data_.path);
    core.vault = &vault_;
    core.images = images_.get();
    if (const auto life = os::start_time_of(1); life != 0) core.init_life = std::to_string(life);
    core.warn = [](std::string text) { spdlog::warn("{}", text); };
    return core;
  }

  Task<void> serve() {
    const auto progress = [](std::string sentence) { spdlog::info("{}", sentence); };
    // Before the core opens: it hears of commands that ended while no daemon was there, whose spans
    // are wanted, too.
    if (!config_.otlp_endpoint.empty()) {
      api::OtlpConfig tracing;
      tracing.endpoint = config_.otlp_endpoint;
      tracing.ca_file = config_.otlp_ca_file;
      tracing.version = CAY_VERSION;
      CAY_CO_TRY(tracer_, api::OtlpExporter::create(loop_.get_executor(), std::move(tracing),
                                                    core_->metrics()));
      core_->on_span([this](Span span) { tracer_->add(std::move(span)); });
      background_.spawn(tracer_->run());
    }
    CAY_CO_CHECK(co_await core_->open(progress));
    if (config_.audit) {
      CAY_CO_TRY(audit_, AuditLog::open(data_.path));
    }
    CAY_CO_TRY(auto names, service_names(config_));
    api::GatewayConfig gateway = gateway_config(std::move(names));
    api::NativeConfig native;
    native.version = CAY_VERSION;
    native.names = gateway.names;
    native.checks.emplace_back([this] { return packages_.look(); });
    api::add_native_routes(router_, *core_, native);
    api::langsmith::LangsmithConfig langsmith;
    langsmith.maximum = config_.core.defaults.maximum;
    langsmith.names = gateway.names;
    langsmith.input = native.input;
    CAY_CO_TRY(langsmith.forward, forwarder(loop_.get_executor(), config_.langsmith));
    CAY_CO_TRY(langsmith.ingestion, ingestion(loop_.get_executor(), config_.langsmith));
    api::add_langsmith_routes(router_, *core_, std::move(langsmith));
    api::daytona::DaytonaConfig daytona;
    daytona.version = CAY_VERSION;
    daytona.names = gateway.names;
    daytona.key_lives = gateway.key_lives;
    daytona.maximum = config_.core.defaults.maximum;
    daytona.usual = config_.core.defaults.limits;
    daytona.policy = config_.core.defaults.policy;
    daytona.background = [this](asio::awaitable<void> work) { background_.spawn(std::move(work)); };
    daytona.input = native.input;
    api::add_daytona_routes(router_, *core_, std::move(daytona));
    api::add_mcp_routes(router_, *core_, {.version = CAY_VERSION, .names = gateway.names});
    gateway_ = std::make_unique<api::Gateway>(loop_.get_executor(), *core_, std::move(gateway));
    gateway_->add_routes(router_);

    for (const auto& webhook : config_.webhooks) {
      CAY_CO_TRY(auto made, api::Webhook::create(loop_.get_executor(), *core_, *store_, webhook));
      background_.spawn(made->run());
      webhooks_.push_back(std::move(made));
    }

    CAY_CO_TRY(auto public_url,
               server::PublicUrl::create(config_.public_url, config_.trusted_proxies,
                                         config_.service_domain));
    http::ListenerConfig listening = listener_config();
    CAY_CO_TRY(listening.tls, server_tls(config_, data_.path));
    const char* scheme = listening.tls ? "https" : "http";
    http::Listener listener(
        loop_.get_executor(), std::move(listening),
        server::make_dispatcher(router_, keys_, dispatch_config(std::move(public_url))));
    CAY_CO_TRY(const std::uint16_t port, listener.start());
    background_.spawn(end_lapsed_rights());
    const std::string host = config_.listen.substr(0, config_.listen.rfind(':'));
    std::printf("cay: listening on %s://%s:%u\n", scheme, host.c_str(), unsigned{port});
    std::fflush(stdout);
    os::notify_service_manager("READY=1");

    asio::signal_set ending(loop_, SIGTERM, SIGINT);
    co_await ending.async_wait(asio::use_awaitable);
    spdlog::info("ending");
    os::notify_service_manager("STOPPING=1");
    core_->part();
    core_->events().end();  // or streams of events would be waited for
    gateway_->end();
    co_await listener.shutdown(kShutdownLimit);
    background_.cancel();
    co_await background_.join();
    if (tracer_) {
      co_await tracer_->flush(kTraceLimit);
    }
    auto closed = co_await core_->close(config_.stop_sandboxes);
    co_return closed;
  }

  // Keys that `cay key` made or removed count from the next request on. A file that cannot be read
  // changes nothing.
  void refresh_keys() {
    const KeysSeen now = keys_seen_in(data_.path);
    if (now == keys_seen_) return;
    keys_seen_ = now;
    read_keys();
  }

  void read_keys() {
    auto fresh = keys_of(data_, *store_);
    if (fresh) {
      keys_ = *std::move(fresh);
      open_.end_without_key(keys_);  // now, not at the next look
      spdlog::info("keys read again: {}", keys_.records().size());
    } else {
      spdlog::error("keys not read: {}", fresh.error().message);
    }
  }

  // Ends open connections with the right that opened them. Another process changes the file of
  // keys, and time passes by itself. So both are checked as often as an end may be late.
  asio::awaitable<void> end_lapsed_rights() {
    for (;;) {
      co_await sleep_for(kRightsLook);
      refresh_keys();
      open_.end_without_key(keys_);
      core_->links().end_lapsed([this](const Link& link) { return keys_.stands_for(link); });
    }
  }

  http::ListenerConfig listener_config() const {
    http::ListenerConfig out;
    std::tie(out.address, out.port) = listen_address(config_);
    out.shape = [this](const http::RequestHead& head, int status, const Error& error) {
      return router_.shape(head, status, error);
    };
    out.log = [](std::string text) { spdlog::error("{}", text); };
    out.refused = [this](const http::RequestHead& head, int status, const Error& error) {
      if (!audit_) return;
      server::AccessRecord record;
      record.begin = system_clock().wall();
      record.method = head.method;
      record.target = "-";  // whatever was meant: it was not understood, and may be a token
      record.peer = head.peer;
      record.status = status;
      record.reason = error.reason;
      audit_->note(record);
    };
    return out;
  }

  api::GatewayConfig gateway_config(api::ServiceNames names) {
    api::GatewayConfig out;
    out.names = std::move(names);
    out.is_key = [this](std::string_view key) { return static_cast<bool>(keys_.find(key)); };
    out.key_lives = [this](const Link& link) {
      refresh_keys();
      return keys_.stands_for(link);
    };
    return out;
  }

  server::DispatchConfig dispatch_config(server::PublicUrl public_url) {
    server::DispatchConfig out;
    out.hosts.loopback_only = server::is_loopback_host(listen_address(config_).first);
    if (!public_url.host().empty()) out.hosts.names.push_back(public_url.host());
    if (!config_.service_domain.empty()) out.hosts.names.push_back("." + config_.service_domain);
    out.public_url = std::move(public_url);
    out.by_host = [this](const http::RequestHead& head) { return gateway_->handler_of(head); };
    out.before_key = [this] { refresh_keys(); };
    out.open = &open_;
    out.trace = !config_.otlp_endpoint.empty();
    out.per_second = config_.requests_per_second;
    out.strangers_per_second = config_.strangers_per_second;
    out.per_second_of_link = config_.link_requests_per_second;
    out.begun = [this](const server::AccessRecord& record) {
      return audit_ && audit_->note(record);
    };
    out.log = [this](const server::AccessRecord& record) {
      note_request(record);
      if (audit_) audit_->note(record);
      spdlog::debug("{} {} status={} {:.1f} ms key={} from={} request={}{}", record.method,
                    record.target, record.status, record.milliseconds, record.principal,
                    record.peer, record.request_id, record.failed ? " failed" : "");
    };
    return out;
  }

  void note_request(const server::AccessRecord& record) const {
    const std::string kind(server::route_class(record.route));
    if (record.trace && tracer_) tracer_->add(span_of(record));
    core_->metrics().count("cay_http_requests_total",
                           "Requests, by kind of route and status (0: none was sent).",
                           {{"route", kind}, {"status", std::to_string(record.status)}});
    constexpr int kUpgraded = 101;
    if (record.status == kUpgraded || kind == "events" || kind == "services")
      return;  // these last as long as somebody listens
    core_->metrics().observe("cay_http_request_seconds",
                             "Time from a request's head to the end of its answer.",
                             {{"route", kind}}, record.milliseconds / 1000);
  }

  asio::io_context& loop_;
  const Config& config_;
  const PackageCheck& packages_;
  const DataDir data_;
  std::unique_ptr<core::Store> store_;
  server::KeyRing keys_;
  KeysSeen keys_seen_;
  runtime::NativeRuntime runtime_;
  vault::BrokerClient vault_;
  const std::unique_ptr<core::Images> images_;
  const std::vector<OwnedRuntime> more_;
  std::unique_ptr<core::Cay> core_;
  http::Router router_;
  std::unique_ptr<AuditLog> audit_;  // null: the operator wants none
  std::unique_ptr<api::Gateway> gateway_;
  std::vector<std::unique_ptr<api::Webhook>> webhooks_;
  std::unique_ptr<api::OtlpExporter> tracer_;
  server::OpenRequests open_{loop_.get_executor()};
  Scope background_{loop_.get_executor()};
  int exit_code_ = 0;
};

struct Watchers {
  UniqueFd launcher, broker, gate, images;
};

Result<DataDir> prepare(const Config& config, Watchers& watch) {
  if (auto usual = core::checked(SandboxSpec{}, config.core.defaults); !usual) {
    return std::move(usual).error().while_doing("the settings' [defaults] and [maximum]");
  }
  if (auto wrong = server::check_listen(config.listen, config.insecure_http || wants_tls(config)))
    return std::move(*wrong);
  const bool root = ::geteuid() == 0;
  CAY_TRY(const DaemonUser user, daemon_user(config.run_as));
  const std::string wanted = config.data.empty() ? default_data_dir() : config.data;
  CAY_CHECK(check_restored(wanted));
  CAY_TRY(DataDir data, open_data_dir(wanted, user));
  const auto [address, port] = listen_address(config);
  CAY_CHECK(
      http::check_can_listen(address, port));  // before a launcher is started that nobody would end
  CAY_TRY(const DaemonUser gate, gate_user_of(data.path));
  // So is what the settings name and cannot be read.
  const bool with_broker = role_is_ours(kBroker, data.path, user);
  vault::Settings vault;
  if (with_broker) {
    CAY_TRY(vault, broker_settings(config.vault, config.network, data.path, user.uid, gate.uid));
  }
  if (root) {
    CAY_CHECK(start_or_mend_launcher({data.path, data.instance, user.uid, user.gid, gate.uid, {}}));
  } else if (!launcher_answers(data.path)) {
    return Error{Code::kUnavailable, "launcher_not_running",
                 "no launcher runs for " + data.path +
                     ". Start it once, as root:\n  sudo cay launcher --data " + data.path +
                     " --daemon-uid " + std::to_string(user.uid) + " --detach",
                 0};
  }
  if (root) {
    CAY_TRY(watch.launcher,
            watch_launcher({data.path, data.instance, user.uid, user.gid, gate.uid, {}}));
  }
  if (with_broker) {
    CAY_TRY(const DaemonUser broker, broker_user_of(data.path));
    CAY_TRY(watch.broker, watch_broker({std::move(vault), broker}));
  }
  if (role_is_ours(kGate, data.path, user)) {
    CAY_TRY(watch.gate, watch_gate({gate_settings(config.network, data.path), gate, user.gid}));
  }
  if (role_is_ours(kImages, data.path, user)) {
    CAY_TRY(const DaemonUser images, images_user_of(data.path));
    CAY_TRY(watch.images,
            watch_images({image_settings(config.images, config.network, data.path, user.uid),
                          images, user.gid}));
  }
  os::raise_descriptor_limit();  // each client and each keeper takes a descriptor: as many as we
                                 // may have
  CAY_CHECK(become(user));
  return data;
}

std::optional<Error> check_default_policy(const core::Defaults& defaults) {
  const auto bad = [](const std::string& what) {
    return Error{Code::kInvalidArgument, "bad_config", "network.default_policy: " + what, 0};
  };
  const auto choice = defaults.policies->choose(defaults.policy);
  if (!choice) return bad(choice.error().message);
  if (const auto allowed = defaults.policies->check_allowed(*choice); !allowed)
    return bad(allowed.error().message);
  return std::nullopt;
}

}  // namespace

int serve(const Config& given, const MoreRuntimes& more) {
  auto logger = spdlog::stderr_color_st("cay");
  logger->set_level(spdlog::level::from_str(given.log_level));
  spdlog::set_default_logger(logger);
  ::signal(SIGPIPE, SIG_IGN);

  auto network = settle_network(given.network);
  if (!network) return fail("cay serve", network.error());
  Config config = given;
  config.network = *std::move(network);
  if (auto settled = settle_upstream(config.langsmith); !settled)
    return fail("cay serve", settled.error());
  if (auto fit = check_images(config.images); !fit) return fail("cay serve", fit.error());
  auto policies = policies_of(config.network);
  if (!policies) return fail("cay serve", policies.error());
  config.core.defaults.policies = std::make_shared<const policy::Catalogue>(*std::move(policies));
  for (const std::string& text : config.network.networks) {
    if (const auto one = Network::parse(text)) config.core.defaults.networks.push_back(*one);
  }
  config.core.defaults.is_own_address = [](const IpAddress& address) {
    const auto kind = os::route_kind(address);
    return kind && *kind == os::RouteKind::kLocal;
  };
  auto profiles = core::profiles_of(config.profiles, config.profile);
  if (!profiles)
    return fail("cay serve",
                Error{Code::kInvalidArgument, "bad_config",
                      "host.profiles, defaults.profile: " + profiles.error().message, 0});
  config.core.defaults.profiles = *std::move(profiles);
  if (auto wrong = check_default_policy(config.core.defaults)) return fail("cay serve", *wrong);
  const PackageCheck packages(config.network, config.core.defaults.policies,
                              config.core.defaults.is_own_address);
  Watchers watchers;
  auto data = prepare(config, watchers);
  if (!data) return fail("cay serve", data.error());
  auto store = store::open_store(data->path, {.keep_events = config.keep_events});
  if (!store) return fail("cay serve", store.error());
  if (auto made = own_key(*data); !made) return fail("cay serve", made.error());
  const KeysSeen keys_seen = keys_seen_in(data->path);  // first: what changes from here on is seen
  auto keys = keys_of(*data, **store);
  if (!keys) return fail("cay serve", keys.error());

  asio::io_context loop(1);
  Daemon daemon(loop, config, packages, *std::move(data), *std::move(store), *std::move(keys),
                keys_seen, more);
  spawn(loop.get_executor(), "daemon", daemon.run());
  spawn(loop.get_executor(), "key reload", daemon.reload_on_hangup());
  const auto mind = [&](UniqueFd& watch, const char* name, const char* loss) {
    if (watch) spawn(loop.get_executor(), name, daemon.mind_watcher(std::move(watch), name, loss));
  };
  mind(watchers.launcher, "cay-watch",
       "a launcher that dies from now on is not started again, and nothing can be made or ended "
       "then");
  mind(watchers.gate, kGate.watcher,
       "a gate that dies from now on is not started again, and nothing gets out of sandboxes then");
  mind(watchers.broker, kBroker.watcher,
       "a broker that dies from now on is not started again, and no secret can be used or changed "
       "then");
  mind(watchers.images, kImages.watcher,
       "an image process that dies from now on is not started again, and no image can be pulled "
       "then");
  loop.run();
  return daemon.exit_code();
}

}  // namespace cay::app
