// ServiceCall: one request of the outside, passed to a service inside, and its answer, passed back.
#pragma once
#include "api/common/answer.h"
#include "api/gateway/headers.h"
#include "api/gateway/kept_services.h"
#include "async/event.h"
#include "core/cay.h"

namespace cay::api {

struct ServiceRoute {
  ServicePlace place;
  ServiceForm form = ServiceForm::kHost;
  std::string target;  // as the service is asked: path and query
};

// Fails before anything was answered, or has answered (broken off, if it had to be). Cut when the link is withdrawn or
// `ending` is set, which says that the daemon ends.
Task<void> pass_to_service(core::Cay& cay, KeptServices& kept, ExchangePtr exchange, core::OpenLink link, ServiceRoute route,
                           const std::function<bool(std::string_view)>& is_key, Event& ending);

}  // namespace cay::api
