// Every route of the facade: those of the control plane here, the toolbox's in toolbox/.
#include <utility>

#include "api/daytona/account.h"
#include "api/daytona/changes.h"
#include "api/daytona/config.h"
#include "api/daytona/config_route.h"
#include "api/daytona/control.h"
#include "api/daytona/create.h"
#include "api/daytona/events_socket.h"
#include "api/daytona/list.h"
#include "api/daytona/previews.h"
#include "api/daytona/sandboxes.h"
#include "api/daytona/secrets.h"
#include "api/daytona/signing.h"
#include "api/daytona/snapshots.h"
#include "api/daytona/storage.h"
#include "api/daytona/toolbox/toolbox.h"
#include "api/daytona/volumes.h"

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
          .without_key = {"GET /daytona/config", "GET /daytona/health", "GET /daytona/health/ready",
                          "GET /daytona/socket.io/"}};
}

using Shared = std::shared_ptr<Control>;

void add_sandbox_routes(PlaneRoutes& routes, const Shared& control) {
  const auto add = [&](const char* method, const char* path, ControlVerb verb, Right right) {
    routes.add(method, path, with(control, verb), right);
  };
  add("POST", "/sandbox", create_sandbox, Right::kManage);
  add("GET", "/sandbox", list_sandboxes, Right::kRead);
  add("GET", "/sandbox/paginated", page_sandboxes, Right::kRead);
  add("GET", "/sandbox/{id}", get_sandbox, Right::kReadOne);
  add("DELETE", "/sandbox/{id}", delete_sandbox, Right::kManage);
  add("POST", "/sandbox/{id}/start", start_sandbox, Right::kUseOne);
  add("POST", "/sandbox/{id}/stop", stop_sandbox, Right::kUseOne);
  add("POST", "/sandbox/{id}/pause", pause_sandbox, Right::kUseOne);
  add("POST", "/sandbox/{id}/recover", recover_sandbox, Right::kUseOne);
  add("POST", "/sandbox/{id}/archive", archive_sandbox, Right::kManage);
  add("POST", "/sandbox/{id}/resize", resize_sandbox, Right::kManage);
  add("POST", "/sandbox/{id}/fork", fork_sandbox, Right::kManage);
  add("POST", "/sandbox/{id}/snapshot", snapshot_sandbox, Right::kManage);
  add("GET", "/sandbox/{id}/forks", list_forks, Right::kRead);
  add("GET", "/sandbox/{id}/parent", get_parent, Right::kRead);
  add("GET", "/sandbox/{id}/ancestors", list_ancestors, Right::kRead);
}

void add_setting_routes(PlaneRoutes& routes, const Shared& control) {
  const auto add = [&](const char* method, const char* path, ControlVerb verb, Right right) {
    routes.add(method, std::string("/sandbox/{id}") + path, with(control, verb), right);
  };
  add("PUT", "/labels", put_labels, Right::kManage);
  add("POST", "/autostop/{minutes}", set_auto_stop, Right::kManage);
  add("POST", "/autopause/{minutes}", set_auto_pause, Right::kManage);
  add("POST", "/autoarchive/{minutes}", set_auto_archive, Right::kManage);
  add("POST", "/autodelete/{minutes}", set_auto_delete, Right::kManage);
  add("POST", "/ttl/{minutes}", set_ttl, Right::kManage);
  add("POST", "/public/{public}", set_public, Right::kManage);
  add("POST", "/network-settings", set_network, Right::kManage);
  add("PUT", "/secrets", put_secrets, Right::kManage);
  add("POST", "/last-activity", note_activity, Right::kUseOne);
  add("GET", "/ports/{port}/preview-url", preview_url, Right::kUseOne);
  add("GET", "/ports/{port}/signed-preview-url", signed_preview_url, Right::kUseOne);
  add("POST", "/ports/{port}/signed-preview-url/{token}/expire", expire_signed_preview_url,
      Right::kUseOne);
  // The key lets its owner write files, so a key of scope read does not get it.
  routes.add("GET", "/sandbox/{id}/signing-key", get_signing_key, Right::kUseOne);
  routes.add("POST", "/sandbox/{id}/signing-key/rotate", rotate_signing_key, Right::kUseOne);
}

void add_snapshot_routes(PlaneRoutes& routes, const Shared& control) {
  const auto add = [&](const char* method, const char* path, ControlVerb verb, Right right) {
    routes.add(method, path, with(control, verb), right);
  };
  add("POST", "/snapshots", create_snapshot, Right::kManage);
  add("GET", "/snapshots", list_snapshots, Right::kRead);
  add("GET", "/snapshots/{id}", get_snapshot, Right::kRead);
  add("DELETE", "/snapshots/{id}", delete_snapshot, Right::kManage);
  add("POST", "/snapshots/{id}/activate", activate_snapshot, Right::kManage);
  add("POST", "/snapshots/{id}/deactivate", deactivate_snapshot, Right::kManage);
  const auto log = [control](core::Cay&, ExchangePtr exchange) {
    return stream_build_logs(control, std::move(exchange));
  };
  for (const char* path : {"/snapshots/{id}", "/sandbox/{id}"}) {
    add("GET", (std::string(path) + "/build-logs-url").c_str(), build_logs_url, Right::kRead);
    routes.add_stream("GET", std::string(path) + "/build-logs", log, Right::kRead);
  }
}

void add_store_routes(PlaneRoutes& routes) {
  routes.add("GET", "/volumes", list_volumes, Right::kRead);
  routes.add("POST", "/volumes", create_volume, Right::kManage);
  routes.add("GET", "/volumes/by-name/{id}", get_volume, Right::kRead);
  routes.add("GET", "/volumes/{id}", get_volume, Right::kRead);
  routes.add("DELETE", "/volumes/{id}", delete_volume, Right::kManage);
  routes.add("GET", "/secret/paginated", list_secrets, Right::kRead);
  routes.add("POST", "/secret", create_secret, Right::kManage);
  routes.add("GET", "/secret/{id}", get_secret, Right::kRead);
  routes.add("PATCH", "/secret/{id}", patch_secret, Right::kManage);
  routes.add("DELETE", "/secret/{id}", delete_secret, Right::kManage);
}

}  // namespace
}  // namespace daytona

void add_daytona_routes(http::Router& router, core::Cay& cay, daytona::DaytonaConfig config) {
  using daytona::Plane;
  router.declare(daytona::facade());
  daytona::PlaneRoutes control(router, cay, Plane::kApi, daytona::kPrefix);
  daytona::add_config_routes(control, config);
  const auto state =
      std::make_shared<daytona::Control>(daytona::Control{.cay = cay, .config = config});
  daytona::add_sandbox_routes(control, state);
  daytona::add_setting_routes(control, state);
  daytona::add_snapshot_routes(control, state);
  daytona::add_store_routes(control);
  daytona::add_storage_routes(control, state);
  daytona::add_account_routes(control);
  daytona::add_events_socket(control);
  daytona::PlaneRoutes toolbox(router, cay, Plane::kToolbox,
                               std::string(daytona::kToolboxPrefix) + "/{id}");
  daytona::add_toolbox_routes(toolbox, config);
}

}  // namespace cay::api
