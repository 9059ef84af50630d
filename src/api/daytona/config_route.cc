#include "api/daytona/config_route.h"

#include "api/daytona/lookup.h"

namespace cay::api::daytona {
namespace {

namespace json = codec::json;

// Clients of versions 0.117 to 0.13x find the toolbox by it.
Task<http::Response> configuration(std::string version, ExchangePtr exchange) {
  const std::string base = base_url(exchange->head());
  co_return json_answer(
      200, json::object{
               {"version", version},
               {"oidc",
                json::object{{"issuer", ""}, {"clientId", ""}, {"audience", ""}, {"provider", ""}}},
               {"linkedAccountsEnabled", false},
               {"announcements", json::object()},
               {"proxyTemplateUrl", ""},
               {"proxyToolboxUrl", base + "/toolbox"},
               {"defaultSnapshot", "default"},
               {"dashboardUrl", ""},
               {"maxAutoArchiveInterval", 43'200},
               {"maintananceMode", false},
               {"environment", "production"}});
}

Task<http::Response> health(core::Cay&, ExchangePtr) {
  co_return json_answer(200, json::object{{"status", "ok"}});
}

}  // namespace

void add_config_routes(PlaneRoutes& routes, const DaytonaConfig& config) {
  const std::string version = config.version;
  routes.add(
      "GET", "/config",
      [version](core::Cay&, ExchangePtr exchange) {
        return configuration(version, std::move(exchange));
      },
      http::Auth::kNone);
  routes.add("GET", "/health", health, http::Auth::kNone);
  routes.add("GET", "/health/ready", health, http::Auth::kNone);
}

}  // namespace cay::api::daytona
