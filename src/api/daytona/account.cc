#include "api/daytona/account.h"

#include <string>

#include "api/daytona/lookup.h"
#include "codec/time.h"
#include "core/verbs/inspection.h"
#include "core/verbs/sandboxes.h"
#include "core/verbs/usage.h"

namespace cay::api::daytona {
namespace {

namespace json = codec::json;

// A route that is refused for a reason of this host.
struct Absent {
  const char* method;
  const char* path;
  const char* reason;
};
constexpr const char* kNoSsh =
    "Cay has no SSH gateway: open a terminal by the SDK (process.create_pty_session) or by "
    "`cay shell`";
constexpr const char* kNoPools =
    "Cay keeps no warm pool: a sandbox starts in a fraction of a second without one";
constexpr const char* kNoTelemetry =
    "Cay sends traces where its operator says (otlp_endpoint), and keeps none to read";
constexpr const char* kNoWebhooks =
    "the operator of Cay names the receivers of its webhooks in cay.toml: see docs/operator/"
    "monitor.md";
constexpr const char* kByCay = "keys are made on the host of Cay: `cay key create`";
constexpr Absent kAbsent[] = {
    {"POST", "/sandbox/{id}/ssh-access", kNoSsh},
    {"DELETE", "/sandbox/{id}/ssh-access", kNoSsh},
    {"GET", "/sandbox/ssh-access/validate", kNoSsh},
    {"POST", "/warm-pools", kNoPools},
    {"PATCH", "/warm-pools/{id}", kNoPools},
    {"DELETE", "/warm-pools/{id}", kNoPools},
    {"GET", "/sandbox/{id}/telemetry/logs", kNoTelemetry},
    {"GET", "/sandbox/{id}/telemetry/traces", kNoTelemetry},
    {"POST", "/webhooks/organizations/{organization}/app-portal-access", kNoWebhooks},
    {"GET", "/webhooks/organizations/{organization}/initialization-status", kNoWebhooks},
    {"POST", "/webhooks/organizations/{organization}/initialize", kNoWebhooks},
    {"POST", "/webhooks/organizations/{organization}/refresh-endpoints", kNoWebhooks},
    {"POST", "/api-keys", kByCay},
    {"DELETE", "/api-keys/{name}", kByCay},
};

json::object organization(const ExchangePtr& exchange) {
  const std::string tenant = exchange->principal().tenant.get();
  return {{"id", codec::text(tenant)},
          {"name", codec::text(tenant)},
          {"personal", true},
          {"suspended", false}};
}

Task<http::Response> organizations(core::Cay&, ExchangePtr exchange) {
  co_return json_answer(200, json::array{organization(exchange)});
}

Task<http::Response> one_organization(core::Cay&, ExchangePtr exchange) {
  if (ref_of(exchange) != exchange->principal().tenant.get())
    co_return Error{Code::kNotFound, "no_such_route", "Organization not found", 0};
  co_return json_answer(200, organization(exchange));
}

Task<http::Response> regions(core::Cay&, ExchangePtr) {
  co_return json_answer(
      200, json::array{json::object{{"id", "local"}, {"name", "local"}, {"regionType", "shared"}}});
}

Task<http::Response> own_key(core::Cay&, ExchangePtr exchange) {
  co_return json_answer(200, json::object{{"name", codec::text(exchange->principal().key_name)},
                                          {"value", ""},
                                          {"permissions", json::array()},
                                          {"userId", codec::text(exchange->principal().key_name)}});
}

Task<http::Response> own_user(core::Cay&, ExchangePtr exchange) {
  const std::string name = exchange->principal().key_name;
  co_return json_answer(
      200, json::object{{"id", codec::text(name)}, {"name", codec::text(name)}, {"email", ""}});
}

Task<http::Response> nothing(core::Cay&, ExchangePtr) { co_return json_answer(200, json::array()); }

Task<http::Response> toolbox_proxy_url(core::Cay& cay, ExchangePtr exchange) {
  CAY_CO_CHECK(co_await sandbox_of(cay, exchange));
  co_return json_answer(
      200, json::object{{"url", codec::text(base_url(exchange->head()) + "/toolbox")}});
}

json::object series_of(const char* name, const std::string& at, double value) {
  return {{"metricName", name},
          {"dataPoints", json::array{json::object{{"timestamp", at}, {"value", value}}}}};
}

// The present use. Cay keeps no history of it.
Task<http::Response> metrics(core::Cay& cay, ExchangePtr exchange) {
  CAY_CO_TRY(const Sandbox sandbox, co_await sandbox_of(cay, exchange));
  json::array series;
  if (sandbox.state == SandboxState::kReady) {
    CAY_CO_TRY(const core::SandboxStats stats,
               co_await cay.inspection().stats(exchange->principal(), sandbox.id.get()));
    const std::string at = codec::rfc3339(system_clock().wall());
    constexpr double kMilli = 1000;
    series.emplace_back(
        series_of("daytona.sandbox.cpu.limit", at, sandbox.limits.cpu_millicores / kMilli));
    series.emplace_back(
        series_of("daytona.sandbox.memory.usage", at, static_cast<double>(stats.memory_bytes)));
    series.emplace_back(series_of("daytona.sandbox.memory.limit", at,
                                  static_cast<double>(sandbox.limits.memory_bytes)));
    series.emplace_back(series_of("daytona.sandbox.filesystem.total", at,
                                  static_cast<double>(sandbox.limits.disk_bytes)));
  }
  co_return json_answer(200, json::object{{"series", std::move(series)}});
}

}  // namespace

void add_account_routes(PlaneRoutes& routes) {
  routes.add("GET", "/organizations", organizations, Right::kAny);
  routes.add("GET", "/organizations/{id}", one_organization, Right::kAny);
  routes.add("GET", "/regions", regions, Right::kAny);
  routes.add("GET", "/shared-regions", regions, Right::kAny);
  routes.add("GET", "/api-keys/current", own_key, Right::kAny);
  routes.add("GET", "/users/me", own_user, Right::kAny);
  routes.add("GET", "/warm-pools", nothing, Right::kRead);
  routes.add("GET", "/sandbox/{id}/toolbox-proxy-url", toolbox_proxy_url, Right::kReadOne);
  routes.add("GET", "/sandbox/{id}/telemetry/metrics", metrics, Right::kReadOne);
  for (const Absent& absent : kAbsent) {
    const std::string reason = absent.reason;
    routes.add(
        absent.method, absent.path,
        [reason](core::Cay&, ExchangePtr) -> Task<http::Response> {
          co_return Error{Code::kUnsupported, "not_here", reason, 0};
        },
        Right::kReadOne);
  }
}

}  // namespace cay::api::daytona
