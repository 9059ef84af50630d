#include "api/daytona/toolbox/computer_use.h"

#include "api/daytona/toolbox/errors.h"
#include "api/daytona/toolbox/request.h"

namespace cay::api::daytona {
namespace {

Task<http::Response> desktop_status(core::Cay& cay, ExchangePtr exchange) {
  CAY_CO_TRY(const Box box, co_await box_of(cay, exchange));
  static_cast<void>(box);
  co_return json_answer(200, codec::json::object{{"status", "inactive"}});
}

Task<http::Response> no_desktop(core::Cay& cay, ExchangePtr exchange) {
  CAY_CO_TRY(const Box box, co_await box_of(cay, exchange));
  static_cast<void>(box);
  const std::string rest = exchange->params().at("rest");
  if (rest.starts_with("a11y"))
    co_return vendor_error(kA11yUnavailable, "this sandbox has no accessibility bus");
  if (rest.starts_with("recordings"))
    co_return vendor_error(kNoFfmpeg, "this sandbox records no screen: Cay runs no desktop");
  co_return vendor_error(kNoComputerUse,
                         "Cay runs no desktop in a sandbox. A program can: take an image with a "
                         "virtual display and a VNC server, start them, and open their port by a "
                         "preview link");
}

}  // namespace

void add_computer_use_routes(PlaneRoutes& routes) {
  routes.add("GET", "/computeruse/status", desktop_status, Right::kReadOne);
  routes.add("GET", "/computeruse/process-status", desktop_status, Right::kReadOne);
  for (const char* method : {"GET", "POST", "DELETE"})
    routes.add(method, "/computeruse/{rest...}", no_desktop, Right::kUseOne);
}

}  // namespace cay::api::daytona
