// ServiceCall: one request of the outside, passed to a service inside, and its answer, passed back.
#pragma once
#include "api/common/answer.h"
#include "api/gateway/headers.h"
#include "api/gateway/kept_services.h"
#include "async/event.h"
#include "core/cay.h"
#include "core/verbs/links.h"

namespace cay::api {

struct ServiceRoute {
  ServicePlace place;
  ServiceForm form = ServiceForm::kHost;
  std::string target;  // of the service's request: path and query
};

// Passes a request to its service. Fails before any answer, or has answered (and broken off, if it
// had to). It is cut when the link is withdrawn, or when `ending` is set at the daemon's end.
Task<void> pass_to_service(core::Cay& cay, KeptServices& kept, ExchangePtr exchange,
                           core::OpenLink link, ServiceRoute route,
                           const std::function<bool(std::string_view)>& is_key, Event& ending);

}  // namespace cay::api
