#include "api/testing/other_facade.h"

#include <memory>
#include <string>

#include "api/common/answer.h"
#include "core/verbs/sandboxes.h"

namespace cay::api::testing {
namespace {

constexpr const char* kBox = "X-Other-Box";

http::Response refusal(int status, const Error& error) {
  return json_answer(status, codec::json::object{{"code", status}, {"message", error.message}});
}

http::Response outer_refusal(const http::RequestHead&, int status, const Error& error) {
  return refusal(status, error);
}

http::Response inner_refusal(const Error& error, const std::string&) {
  return refusal(status_of(error), error);
}

http::Facade facade(std::string prefix) {
  return {.prefixes = {std::move(prefix)},
          .refusal = outer_refusal,
          .key = http::KeyRule{{{"X-Other-Token"}}, "Other"}};
}

Task<http::Response> names(core::Cay& cay, ExchangePtr exchange) {
  SandboxQuery all;
  CAY_CO_TRY(const SandboxPage page,
             co_await cay.sandboxes().list(exchange->principal(), std::move(all)));
  codec::json::array out;
  for (const auto& sandbox : page.items) out.emplace_back(sandbox.name);
  co_return json_answer(200, out);
}

Task<http::Response> id_of(core::Cay& cay, ExchangePtr exchange) {
  std::string name(exchange->head().headers.get(kBox).value_or(""));
  CAY_CO_TRY(const Sandbox box,
             co_await cay.sandboxes().get(exchange->principal(), std::move(name)));
  co_return json_answer(200, codec::json::object{{"id", box.id.get()}});
}

Task<http::Response> health(ExchangePtr) { co_return json_answer(200, codec::json::object()); }

}  // namespace

void add_other_routes(http::Router& router, core::Cay& cay) {
  http::Facade outside = facade("/other");
  outside.without_key = {"GET /other/health"};
  router.declare(std::move(outside));
  const Verb list = [&cay](ExchangePtr exchange) { return names(cay, std::move(exchange)); };
  router.add("GET", "/other/boxes", answering(cay, list, inner_refusal), Right::kRead);
  router.add("GET", "/other/health", answering(cay, health, inner_refusal), http::Auth::kNone);
  auto inside = std::make_shared<http::Router>();
  inside->declare(facade("/"));
  const Verb id = [&cay](ExchangePtr exchange) { return id_of(cay, std::move(exchange)); };
  inside->add("GET", "/id", answering(cay, id, inner_refusal), Right::kReadOne);
  router.divert([](const http::RequestHead& head) { return head.headers.get(kBox).has_value(); },
                std::move(inside));
}

}  // namespace cay::api::testing
