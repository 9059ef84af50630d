// The settings that the daemon gives to the Daytona facade.
#pragma once
#include <functional>
#include <memory>
#include <string>

#include "api/common/service_names.h"
#include "api/common/stdin_feed.h"
#include "async/task.h"
#include "core/cay.h"
#include "http/router.h"
#include "model/limits.h"
#include "model/link.h"

namespace cay::api::daytona {

struct DaytonaConfig {
  std::string version = "0.1.0";
  ServiceNames names;               // of preview URLs
  Limits maximum;                   // of one sandbox
  Limits usual;                     // of one whose client sets none
  std::string policy = "packages";  // of sandboxes whose client sets no network
  // Whether the key that made a link may still do so. Unset: no token opens the toolbox.
  std::function<bool(const Link& link)> key_lives;
  // Runs work that outlives its request, and ends it with the daemon.
  std::function<void(asio::awaitable<void>)> background;
  std::shared_ptr<InputRoom> input =
      std::make_shared<InputRoom>();  // of all sessions of the daemon
};

// The prefix of all routes. Clients get it as a part of DAYTONA_API_URL.
inline constexpr const char* kPrefix = "/daytona";
// The prefix of the toolbox, before "/{id}".
inline constexpr const char* kToolboxPrefix = "/daytona/toolbox";

}  // namespace cay::api::daytona

namespace cay::api {

// The control plane and the toolbox, under /daytona. References outlive the router.
void add_daytona_routes(http::Router& router, core::Cay& cay, daytona::DaytonaConfig config);

}  // namespace cay::api
