#include "api/daytona/lookup.h"

#include "api/daytona/config.h"
#include "core/verbs/sandboxes.h"

namespace cay::api::daytona {

std::string ref_of(const ExchangePtr& exchange) { return exchange->params().at("id"); }

Task<Sandbox> sandbox_of(core::Cay& cay, ExchangePtr exchange) {
  std::string ref = ref_of(exchange);
  auto found = co_await cay.sandboxes().get(exchange->principal(), ref);
  if (!found && found.error().code == Code::kNotFound) {
    co_return Error{Code::kNotFound, "sandbox_not_found",
                    "Sandbox with ID or name " + ref + " not found", 0};
  }
  co_return found;
}

std::string base_url(const http::RequestHead& head) {
  return head.scheme + "://" + head.host + kPrefix;
}

}  // namespace cay::api::daytona
