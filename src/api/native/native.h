// The native API, /api/v1: docs/api.md in prose, openapi.json in full.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "api/common/stdin_feed.h"
#include "api/common/service_names.h"
#include "core/cay.h"
#include "core/ports/runtime.h"
#include "http/router.h"

namespace cay::api {

struct NativeConfig {
  std::string version = "0.1.0";
  ServiceNames names;  // of the addresses in links
  std::shared_ptr<InputRoom> input =
      std::make_shared<InputRoom>();  // of all sessions of the daemon
  // Lines of /doctor beside the runtime's.
  std::vector<std::function<Task<core::Feature>()>> checks{};
};

// References outlive the router. Errors of paths that belong to no facade are shaped natively too.
void add_native_routes(http::Router& router, core::Cay& cay, NativeConfig config);

// openapi.json, as it was built in.
std::string_view openapi_json();

}  // namespace cay::api
