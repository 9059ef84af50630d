// GET .../network: what a sandbox tried to reach.
#include "api/native/handlers.h"
#include "api/native/request.h"
#include "codec/network_json.h"

namespace cay::api::native {

Task<http::Response> sandbox_network(core::Cay& cay, ExchangePtr exchange) {
  auto report = co_await cay.sandboxes().network(exchange->principal(), param(*exchange, "ref"));
  if (!report) co_return std::move(report).error();
  auto response = json_answer(200, codec::to_json(*report));
  response.headers.set("Cache-Control", "no-store");
  co_return response;
}

}  // namespace cay::api::native
