// Every route of the facade: those of the control plane here, the toolbox's in toolbox/.
#include <utility>

#include "api/daytona/config.h"
#include "api/daytona/config_route.h"
#include "api/daytona/sandboxes.h"
#include "api/daytona/toolbox/toolbox.h"

namespace cay::api {
namespace daytona {
namespace {

http::Response outer_refusal(const http::RequestHead& head, int status, const Error& error) {
  return refused(head, plane_of(head), Refusal{status, std::string(code_of_status(status))},
                 error.message);
}

// The clients send a key as a bearer token to both planes.
http::Facade facade() {
  return {.prefixes = {kPrefix},
          .refusal = outer_refusal,
          .key = http::KeyRule{{{"Authorization", http::KeyPlace::Form::kBearer}}, "Bearer"},
          .without_key = {"GET /daytona/config", "GET /daytona/health"}};
}

void add_sandbox_routes(PlaneRoutes& routes) {
  routes.add("POST", "/sandbox", create_sandbox, Right::kManage);
  routes.add("GET", "/sandbox/{id}", get_sandbox, Right::kReadOne);
  routes.add("DELETE", "/sandbox/{id}", delete_sandbox, Right::kManage);
}

}  // namespace
}  // namespace daytona

void add_daytona_routes(http::Router& router, core::Cay& cay, daytona::DaytonaConfig config) {
  using daytona::Plane;
  router.declare(daytona::facade());
  daytona::PlaneRoutes control(router, cay, Plane::kApi, daytona::kPrefix);
  daytona::add_config_routes(control, config);
  daytona::add_sandbox_routes(control);
  daytona::PlaneRoutes toolbox(router, cay, Plane::kToolbox,
                               std::string(daytona::kToolboxPrefix) + "/{id}");
  daytona::add_toolbox_routes(toolbox, config);
}

}  // namespace cay::api
