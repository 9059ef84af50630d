// Every route of the toolbox.
#include "api/daytona/lookup.h"
#include "api/daytona/toolbox/toolbox.h"

namespace cay::api::daytona {

void add_toolbox_routes(PlaneRoutes& routes, const DaytonaConfig& config) {
  const std::string version = config.version;
  routes.add(
      "GET", "/version",
      [version](core::Cay& cay, ExchangePtr exchange) -> Task<http::Response> {
        CAY_CO_CHECK(co_await sandbox_of(cay, exchange));
        co_return json_answer(200, codec::json::object{{"version", "v" + version}});
      },
      Right::kReadOne);
}

}  // namespace cay::api::daytona
