// Routes about the daemon itself.
#include "api/native/handlers.h"
#include "codec/model_json.h"
#include "core/ports/runtime.h"

namespace cay::api::native {

using codec::json::array;
using codec::json::object;

namespace {

// A host that is being emptied works, and begins nothing. Its health shows that.
core::Feature admission(core::Cay& cay) {
  for (const auto& check : cay.readiness()) {
    if (check.name == "admitting" && !check.ok)
      return {check.name, false, "no: this host is drained", "nothing new begins on it",
              "cay drain --undo"};
  }
  return {"admitting", true, "yes", "", ""};
}

}  // namespace

Task<http::Response> health(ExchangePtr) { co_return json_answer(200, object{{"status", "ok"}}); }

Task<http::Response> ready(core::Cay& cay, ExchangePtr) {
  bool all = true;
  array checks;
  for (const auto& check : cay.readiness()) {
    all = all && check.ok;
    object item{{"name", check.name}, {"ok", check.ok}};
    if (!check.detail.empty()) item["detail"] = codec::text(check.detail);
    checks.emplace_back(std::move(item));
  }
  co_return json_answer(all ? 200 : 503, object{{"ready", all}, {"checks", std::move(checks)}});
}

Task<http::Response> metrics(core::Cay& cay, ExchangePtr) {
  http::Response response;
  response.headers.add("Content-Type", "text/plain; version=0.0.4; charset=utf-8");
  response.body = cay.metrics().text();
  co_return response;
}

Task<http::Response> openapi(ExchangePtr) {
  co_return http::json_response(200, std::string(openapi_json()));
}

Task<http::Response> version(NativeConfig config, ExchangePtr) {
  co_return json_answer(200, object{{"name", "cay"}, {"version", config.version}, {"api", "v1"}});
}

Task<http::Response> doctor(core::Cay& cay, NativeConfig config, ExchangePtr) {
  auto got = co_await cay.features();
  if (!got) co_return std::move(got).error();
  for (const auto& check : config.checks) {
    auto feature = co_await check();
    if (!feature) co_return std::move(feature).error();
    got->push_back(*std::move(feature));
  }
  got->push_back(admission(cay));
  bool all = true;
  array items;
  for (const core::Feature& feature : *got) {
    all = all && feature.ok;
    items.emplace_back(object{{"name", codec::text(feature.name)},
                              {"ok", feature.ok},
                              {"found", codec::text(feature.found)},
                              {"fallback", codec::text(feature.fallback)},
                              {"remedy", codec::text(feature.remedy)}});
  }
  co_return json_answer(200, object{{"ok", all}, {"features", std::move(items)}});
}

}  // namespace cay::api::native
