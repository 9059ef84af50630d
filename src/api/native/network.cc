// What a sandbox tried to reach, which policies have names, and what one would let through.
#include "api/native/handlers.h"
#include "api/native/request.h"
#include "codec/fields.h"
#include "codec/network_json.h"

namespace cay::api::native {

Task<http::Response> sandbox_network(core::Cay& cay, ExchangePtr exchange) {
  auto report = co_await cay.sandboxes().network(exchange->principal(), param(*exchange, "ref"));
  if (!report) co_return std::move(report).error();
  auto response = json_answer(200, codec::to_json(*report));
  response.headers.set("Cache-Control", "no-store");
  co_return response;
}

Task<http::Response> policies(core::Cay& cay, ExchangePtr exchange) {
  auto list = co_await cay.sandboxes().policies(exchange->principal());
  if (!list) co_return std::move(list).error();
  co_return json_answer(200, codec::to_json(*list));
}

Task<http::Response> try_policy(core::Cay& cay, ExchangePtr exchange) {
  auto body = co_await body_object(exchange, kBodyLimit);
  if (!body) co_return std::move(body).error();
  codec::Fields fields(*body);
  PolicyQuestion question;
  std::int64_t port = question.port;
  const bool of_sandbox = fields.read("sandbox", question.sandbox);
  const bool of_words = fields.read("policy", question.policy);
  fields.read("host", question.host);
  fields.read("port", port, 1, 65'535);
  if (of_sandbox == of_words) fields.complain("policy", "give either policy or sandbox");
  if (of_sandbox && question.sandbox.empty()) fields.complain("sandbox", "must not be empty");
  if (question.host.empty()) fields.complain("host", "is needed");
  fields.refuse_unknown();
  CAY_CO_CHECK(fields.first_error());
  question.port = static_cast<std::uint16_t>(port);
  auto trial = co_await cay.sandboxes().try_policy(exchange->principal(), std::move(question));
  if (!trial) co_return std::move(trial).error();
  co_return json_answer(200, codec::to_json(*trial));
}

}  // namespace cay::api::native
